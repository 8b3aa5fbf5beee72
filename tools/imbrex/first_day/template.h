#pragma once

#include <span>
#include <string_view>

/// The files of share/template, embedded by CMake: where each goes, and its text, in which `@name@` is the program's.
struct template_file {
  std::string_view to;
  std::string_view text;
};
std::span<const template_file> template_files();
