#pragma once

#include <nanobind/nanobind.h>

#include "python_chare.h"

namespace imbrex_python {

/// What a program calls with a proxy.
void bind_proxies(nb::module_& m);
/// And the runtime, which makes chares, channels, and the job.
void bind_runtime(nb::module_& m);
void bind_channels(nb::module_& m);
void bind_objects(nb::module_& m);
/// Tasks, and kernels from strings.
void bind_tasks(nb::module_& m);
/// Tasks over all ranks.
void bind_graphs(nb::module_& m);

}  // namespace imbrex_python
