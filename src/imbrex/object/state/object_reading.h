#pragma once

#include <memory>

#include "imbrex/async/completion.h"
#include "imbrex/hetero/tasks/hetero_task.h"
#include "imbrex/hetero/tasks/open_task.h"
#include "imbrex/object/state/saved_state.h"

namespace imbrex::detail {

/// An object that is read for a checkpoint, wherever its data are, in its place in the order of uses: after all tasks
/// submitted by now, and before those submitted later that write. For the object's PE.
class object_reading final : waiter {
 public:
  /// Throws `checkpoint_error` for an object of another PE, and where a view that somebody holds has to end before.
  static std::shared_ptr<object_reading> begin(hetero_data& d);
  ~object_reading();

  /// Set when the data can be had, or never will be.
  completion& come() { return come_; }
  /// Once, after that: puts the data into `to`, copied on their device where there is room and any thread reads there;
  /// tasks after it go on. Gives the stream in whose order they are copied; null: they are there. Throws
  /// `checkpoint_error` when what was to write them has failed.
  stream* give(saved_state::piece& to);

 private:
  object_reading() = default;
  static void told(work* w, work_action action);
  stream* give_from_device(saved_state::piece& to);

  open_task* reading_ = nullptr;
  hetero_task kept_;
  std::shared_ptr<object_reading> until_told_;
  completion come_;
};

}  // namespace imbrex::detail
