#pragma once

#include <nanobind/nanobind.h>

namespace imbrex_python {

namespace nb = nanobind;

/// \name What a handler of a signal has thrown, such as KeyboardInterrupt. With the interpreter
///@{
/// Ends the job if `e` is a `KeyboardInterrupt`, which `throw_what_signals_threw` then has: a handler that Python calls
/// while it runs code of the program throws there. Of other exceptions it is not known that a handler threw them.
void see_if_interrupted(const nb::python_error& e);
/// Throws it as `nb::python_error`, once the job has ended.
void throw_what_signals_threw();
///@}

void bind_signals(nb::module_& m);

}  // namespace imbrex_python
