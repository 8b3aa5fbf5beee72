#pragma once

#include <string>
#include <vector>

namespace apps {

/// The arguments of a program without those of the runtime: `--imbrex-...`, and the value that follows one where there
/// is one, which a word without a dash is, as these programs have no positional arguments. In order. Throws usage_error
/// for an empty one.
std::vector<std::string> own_arguments(int argc, const char* const* argv);

/// The same in the order in which CLI11 takes a vector.
std::vector<std::string> own_arguments_reversed(int argc, const char* const* argv);

/// Throws usage_error for the first argument of the runtime: `impl`, such as "--impl mpi", runs without it.
void refuse_runtime_arguments(int argc, const char* const* argv, const std::string& impl);

/// What CLI11 says of a wrong command line, in one line and in these programs' words.
std::string one_line(std::string fault);

}  // namespace apps
