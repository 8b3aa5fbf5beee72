#pragma once

#include <string>
#include <vector>

/// Becomes a program of tools/ that is in Python, `name`/__main__.py, which gets the folder of this tool by --bin and
/// these options. Throws `imbrex::config_error` where that, or python3, is not there.
int become_python(const std::string& name, const std::vector<std::string>& options);
