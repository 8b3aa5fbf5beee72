#pragma once

#include <utility>

#include "imbrex/async/behind.h"
#include "imbrex/async/completion.h"
#include "imbrex/async/task.h"

namespace imbrex {

/// HDF5 has one state for the whole process, which one thread may use at a time: coroutines of all its PEs stand in
/// line, and none of them blocks its PE.
class file_turn {
 public:
  file_turn() = default;
  /// The next one's turn.
  ~file_turn();
  file_turn(const file_turn&) = delete;
  file_turn& operator=(const file_turn&) = delete;

  /// When awaited it is this one's turn, until this ends.
  task<> come();

 private:
  friend struct file_line;
  enum class phase { outside, waits, has_it };
  phase phase_ = phase::outside;
  completion has_come_;
};

/// Runs `f`, which uses HDF5, on a thread of its own when it is its turn; when awaited it has ended, and what it threw
/// is thrown here.
template <class F>
task<> in_file_turn(F f) {
  file_turn turn;
  auto come = turn.come();
  co_await come;
  auto done = behind(std::move(f));
  co_await done;
}

}  // namespace imbrex
