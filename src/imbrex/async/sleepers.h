#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "imbrex/async/executor.h"

namespace imbrex {

/// The PEs of a process that are about to sleep, or do, and want to be woken when there is something that any of them
/// could take. Any thread, unless said otherwise.
class sleepers {
 public:
  /// `pes` stay where they are for as long as this lives.
  explicit sleepers(const std::vector<executor*>& pes);

  /// PE `i`, on its thread: it is about to sleep, and wants to be woken; it looks once more after that whether there is
  /// something. And it is awake again.
  void ask(std::size_t i);
  void withdraw(std::size_t i);
  /// For those that have put down something to take: there are so many pieces. Wakes sleepers, at most one for each.
  void call(int num_pieces);

 private:
  struct sleeper : work {
    std::atomic<bool> wanted{false};
    std::atomic<bool> called{false};
    executor* pe = nullptr;
  };

  std::vector<sleeper> asking_;
  alignas(64) std::atomic<int> num_asking_{0};
};

}  // namespace imbrex
