#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace imbrex {

/// Functions that run on the calling thread, one at a time, each on a stack of its own: a function that waits for
/// others gives its turn away. So the ranks of a job in virtual time can start and end as they do as processes. No
/// function may wait in a `catch` block.
class fibers {
 public:
  fibers();
  ~fibers();
  fibers(const fibers&) = delete;
  fibers& operator=(const fibers&) = delete;

  /// `f` begins with the first turn. Exceptions must not leave it.
  void add(std::size_t stack_bytes, std::function<void()> f);
  /// A turn for each that has not ended; false when there was none, or none of them has done anything but wait.
  bool have_turns();
  bool all_ended() const { return num_ended_ == all_.size(); }

  /// In a function: waits until this is so.
  template <class Condition>
  void wait_until(Condition is_so) {
    if (is_so()) return;
    while (true) {
      give_turn_away();
      if (!is_so()) continue;
      any_went_on_ = true;
      return;
    }
  }

 private:
  struct fiber;
  static void enter(unsigned low, unsigned high);
  void give_turn_away();

  std::vector<std::unique_ptr<fiber>> all_;
  fiber* running_ = nullptr;
  std::size_t num_ended_ = 0;
  bool any_went_on_ = false;
};

}  // namespace imbrex
