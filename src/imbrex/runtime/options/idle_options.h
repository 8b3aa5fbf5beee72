#pragma once

#include <string>
#include <vector>

#include "imbrex/base/config.h"
#include "imbrex/runtime/options/options.h"

namespace imbrex::detail {

/// Options that are set and do nothing in a job as `o` has it, one line each. Throws `config_error` for two that
/// contradict each other.
std::vector<std::string> idle_options(const config& settings, const runtime_options& o);

}  // namespace imbrex::detail
