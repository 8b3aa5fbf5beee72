#pragma once

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

namespace imbrex_python {

namespace nb = nanobind;

/// \name What a program gives; throw `usage_error` with `what` it is and what was given
///@{
/// Of int, or what has `__index__`, as numpy's numbers.
int whole_number(nb::handle given, const char* what);
/// One, or several in a tuple or a list.
std::vector<int> whole_numbers(nb::handle given, const char* what);
/// One of the PEs of the job that runs.
int pe_of_job(nb::handle given);
///@}

}  // namespace imbrex_python
