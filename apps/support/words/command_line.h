#pragma once

#include <initializer_list>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace apps {

/// Reads the arguments that do not start with `--imbrex-` (those, with the value that follows them where there is one,
/// belong to the runtime). False: help was asked for, and printed to stdout. Throws `usage_error`.
bool parse(CLI::App& app, int argc, const char* const* argv);

/// Throws `usage_error` where one of these options, such as "--pes", is given, and the runtime's for the same too,
/// which is `--imbrex-pes` then.
void refuse_said_twice(const CLI::App& app, int argc, const char* const* argv,
                       std::initializer_list<const char*> options);

/// The runtime's option for the same, as `--imbrex-device` for "--device", says it where this one is not given. Throws
/// `usage_error` where both are, and differ.
void take_from_runtime(const CLI::App& app, int argc, const char* const* argv, const char* option, std::string& value);

/// Throws `usage_error` where one of these options is given: they are about `needs`, such as "--devices cuda".
void refuse_without(const CLI::App& app, const char* needs, std::initializer_list<const char*> options);

/// Throws `usage_error` unless the list has values, each from `least` to `most` and a multiple of `unit`.
void check_list(const char* option, const std::vector<int>& values, int least, int most, int unit = 1);

/// The words as they were typed.
std::string command_of(int argc, const char* const* argv);

}  // namespace apps
