#include "imbrex/fields/file_turn.h"

#include <algorithm>
#include <deque>
#include <mutex>

namespace imbrex {

struct file_line {
  std::mutex mutex;
  bool is_taken = false;
  std::deque<file_turn*> waiting;

  static file_line& of_process() {
    static file_line line;
    return line;
  }
  /// Whether it is `t`'s turn at once.
  bool join(file_turn& t) {
    const std::lock_guard lock(mutex);
    if (is_taken) {
      waiting.push_back(&t);
      t.phase_ = file_turn::phase::waits;
      return false;
    }
    is_taken = true;
    t.phase_ = file_turn::phase::has_it;
    return true;
  }
  /// `t` ends: whose turn it is, or who waits no more, or has never stood here.
  void leave(file_turn& t) {
    const std::lock_guard lock(mutex);
    if (t.phase_ == file_turn::phase::outside) return;
    if (t.phase_ == file_turn::phase::waits) {
      waiting.erase(std::ranges::find(waiting, &t));
    } else if (waiting.empty()) {
      is_taken = false;
    } else {
      file_turn& next = *waiting.front();
      waiting.pop_front();
      next.phase_ = file_turn::phase::has_it;
      next.has_come_.set();
    }
  }
};

task<> file_turn::come() {
  if (!file_line::of_process().join(*this)) co_await has_come_;
}

file_turn::~file_turn() { file_line::of_process().leave(*this); }

}  // namespace imbrex
