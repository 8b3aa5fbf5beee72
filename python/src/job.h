#pragma once

#include <nanobind/nanobind.h>

namespace imbrex_python {

namespace nb = nanobind;

/// `run`: a job, from its command line to its exit code.
void bind_job(nb::module_& m);

}  // namespace imbrex_python
