#pragma once

#include <imbrex/object/distribution/untyped_graph_task.h>
#include <nanobind/nanobind.h>

#include "objects.h"

namespace imbrex_python {

/// How a task reduces: of (operation, dtype, parts), the operation a name or one of the program's own.
ix::untyped_graph_reduction reduction_of(const nb::handle& how);
/// What a task uses that reduces so into an object of its own PE.
ix::untyped_use reduce_into(const bytes_object& o, const ix::untyped_graph_reduction& how);

/// Operations of programs' own.
void bind_reductions(nb::module_& m);

}  // namespace imbrex_python
