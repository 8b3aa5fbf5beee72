#pragma once

#include <nanobind/nanobind.h>

namespace imbrex_python {

namespace nb = nanobind;

/// \name What a handler of a signal has thrown, such as KeyboardInterrupt. With the interpreter
///@{
/// Ends the job, whose `take_thrown_by_signal` has it, if `e` is such an exception; of `KeyboardInterrupt` it is known,
/// wherever in Python it has been thrown.
void see_if_interrupted(const nb::python_error& e);
/// Throws it as `nb::python_error`, once the job has ended.
void throw_what_signals_threw();
///@}

void bind_signals(nb::module_& m);

}  // namespace imbrex_python
