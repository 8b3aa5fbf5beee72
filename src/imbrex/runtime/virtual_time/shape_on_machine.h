#pragma once

#include "imbrex/runtime/options/options.h"
#include "imbrex/virtual_time/machine/machine.h"
#include "imbrex/virtual_time/machine/network_model.h"

namespace imbrex::detail {

/// The ranks that `o` asks for on `m`; what was left open in `o` is filled in. Throws `config_error` with the option
/// that cannot be.
job_shape shape_on_machine(const machine& m, runtime_options& o);

}  // namespace imbrex::detail
