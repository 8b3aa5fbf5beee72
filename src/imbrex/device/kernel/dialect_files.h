#pragma once

#include <span>

namespace imbrex::detail {

/// A header that kernels of the dialect are compiled with, by the name that it is included by.
struct dialect_file {
  const char* name;
  const char* text;
};

/// All of them, as they were when the library was built.
std::span<const dialect_file> dialect_files();

}  // namespace imbrex::detail
