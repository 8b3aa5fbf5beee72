#include "recording.h"

#include <utility>

namespace imbrex_python {

namespace {
/// A PE's thread records one window at a time, and waits for nothing meanwhile.
thread_local std::unique_ptr<ix::window_recording> open;
}  // namespace

bool is_recording() { return open != nullptr; }

bool give_up_recording() { return std::exchange(open, nullptr) != nullptr; }

void window::begin() {
  check_in_job();
  see_to_what_was_left();
  if (open != nullptr) throw ix::usage_error("a window is recorded inside of another: end that one before");
  open = std::make_unique<ix::window_recording>(ix::hetero_domain::current());
}

void window::end(bool keep) {
  const std::unique_ptr<ix::window_recording> mine = std::exchange(open, nullptr);
  if (!keep) return;
  if (mine == nullptr) throw ix::usage_error("this window is not being recorded");
  window_ = std::make_unique<of_home<ix::task_window>>(mine->finish());
}

const ix::task_window& window::recorded() const {
  check_in_job();
  if (window_ == nullptr)
    throw ix::usage_error("a window is replayed once it has been recorded, behind its `with` block");
  return window_->here("a window");
}

std::shared_ptr<submitted> window::replay() const {
  see_to_what_was_left();
  const ix::task_window& w = recorded();
  if (open != nullptr) throw ix::usage_error("a window is not replayed while another is recorded");
  return std::make_shared<submitted>(w.replay(), nullptr, false);
}

void bind_windows(nb::module_& m) {
  m.def("is_recording", &is_recording);
  nb::class_<window>(m, "Window",
                     "Tasks that were recorded once, `with imbrex.record() as w:`, to be run again and again.")
      .def(nb::init<>())
      .def("_begin", &window::begin)
      .def("_end", &window::end)
      .def("replay", &window::replay,
           "`t = w.replay()`: submits all of its tasks, ordered with others by the objects that they use. `await t` "
           "until "
           "they are over; throws what one of them threw, as text.")
      .def_prop_ro(
          "num_tasks", [](const window& w) { return w.recorded().num_tasks(); }, "How many were recorded.")
      .def_prop_ro(
          "in_order", [](const window& w) { return w.recorded().in_order(); },
          "Whether a replay runs them in the order of recording.")
      .def_prop_ro(
          "num_devices", [](const window& w) { return w.recorded().num_devices(); },
          "As a whole a replay runs on so many devices; 0: on the host, or task by task.")
      .def_prop_ro(
          "was_graph", [](const window& w) { return w.recorded().was_graph(); },
          "Whether the last replay that has been started was one CUDA graph.");
}

}  // namespace imbrex_python
