#include "signals.h"

#include <imbrex/imbrex.h>

#include <memory>
#include <utility>

#include "home.h"

namespace imbrex_python {

namespace {

constexpr int exit_code_interrupted = 130;

/// Of the job that runs; with the interpreter.
PyObject*& thrown() {
  static PyObject* exception = nullptr;
  return exception;
}

void end_job(const nb::python_error& e) {
  if (thrown() != nullptr) return;
  thrown() = nb::borrow(e.value()).release().ptr();
  ix::scheduler::of_caller().exit_job(exit_code_interrupted, false);
}

/// Looks on the PE's thread, the main one.
struct look_at_signals : ix::work {
  static void post_to(ix::executor* pe) {
    auto* const w = new look_at_signals;
    w->act = &look_at_signals::run;
    w->set_priority(ix::priorities::system);
    pe->post(w);
  }
  static void run(ix::work* w, ix::work_action action) {
    const std::unique_ptr<look_at_signals> self(static_cast<look_at_signals*>(w));
    if (action != ix::work_action::run) return;
    const with_python here;
    if (PyErr_CheckSignals() == 0) return;
    const nb::python_error e;
    end_job(e);
  }
};

/// Where that is. While the main chare runs there: its thread of Python ends before.
class signalled_pe {
 public:
  signalled_pe() { check_in_job(); }
  void look() const { look_at_signals::post_to(pe_); }

 private:
  ix::executor* pe_ = ix::executor::current();
};

}  // namespace

void see_if_interrupted(const nb::python_error& e) {
  if (e.matches(PyExc_KeyboardInterrupt) && ix::executor::current() != nullptr) end_job(e);
}

void throw_what_signals_threw() {
  PyObject* const e = std::exchange(thrown(), nullptr);
  if (e == nullptr) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(e)), e);
  Py_DECREF(e);
  throw nb::python_error();
}

void bind_signals(nb::module_& m) {
  nb::class_<signalled_pe>(m, "SignalledPe").def(nb::init<>()).def("look", &signalled_pe::look);
  m.def("is_in_job", [] { return ix::executor::current() != nullptr; });
}

}  // namespace imbrex_python
