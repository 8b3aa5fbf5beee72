#pragma once

#include <imbrex/imbrex.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <optional>

#include "home.h"
#include "submitted.h"

namespace imbrex_python {

/// Whether tasks that this thread submits are kept in a window.
bool is_recording();
/// Ends that without a window; whether there was something to end. For a coroutine that goes to wait in between, when
/// others would submit their tasks into it.
bool give_up_recording();

/// Tasks that were recorded, to be submitted again and again.
class window {
 public:
  void begin();
  /// `keep`: false when what recorded it failed.
  void end(bool keep);
  std::shared_ptr<submitted> replay() const;
  /// Throws `usage_error` until it has been recorded.
  const ix::task_window& recorded() const;

 private:
  std::unique_ptr<of_home<ix::task_window>> window_;
};

void bind_windows(nb::module_& m);

}  // namespace imbrex_python
