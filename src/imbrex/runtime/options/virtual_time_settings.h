#pragma once

#include <vector>

#include "imbrex/base/config.h"
#include "imbrex/runtime/options/options.h"

namespace imbrex::detail {

/// Those of a run in virtual time.
std::vector<setting> virtual_time_settings();
/// Reads them into `o`, of which the others have been read. Throws `config_error` for what does not go together.
void read_virtual_time(const config& settings, runtime_options& o);

}  // namespace imbrex::detail
