#pragma once

#include <imbrex/imbrex.h>

#include "factor_options.h"

namespace cholesky {

/// Factorises, checks and reports; the job's exit code.
imbrex::task<int> run_factorisation(imbrex::runtime& rt, const options* o);

}  // namespace cholesky
