#pragma once

#include <string>

namespace md {

/// Where the file `name`, which the file `input` names, is: as given, that is relative to the current folder, and then
/// relative to the folder of `input`. Throws config_error, which names both places, where there is none;
/// `what` is what the file is to hold, `remedy` what else the user can do.
std::string find_file(const std::string& name, const std::string& input, const std::string& what,
                      const std::string& remedy);

}  // namespace md
