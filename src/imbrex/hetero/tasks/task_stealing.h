#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "imbrex/async/sleepers.h"
#include "imbrex/hetero/placement/host_tasks.h"

namespace imbrex {

/// PEs of a process that have nothing to do run tasks of the others: work stealing (Thomadakis and Chrisochoides 2024,
/// 3.1.4). A task that runs elsewhere comes home to end. Any thread, unless said otherwise.
class task_stealing {
 public:
  /// `pes` stay where they are for as long as this lives; `asleep` are those of them that have nothing to do.
  task_stealing(const std::vector<executor*>& pes, sleepers& asleep)
      : pes_(pes), offered_(pes.size()), asleep_(asleep) {}

  /// Tasks of PE `i` may be taken from now on, until null is given: before no PE runs or after all have stopped, or by
  /// PE i itself.
  void offer(std::size_t i, host_tasks* of) { offered_[i].store(of, std::memory_order_release); }
  std::size_t num_pes() const { return offered_.size(); }
  /// Which PE an executor is.
  std::size_t place_of(const executor& pe) const;

  /// Whether another PE than `i` seems to have a task to spare. Cheap.
  bool any(std::size_t i) const {
    for (std::size_t n = 0; n < offered_.size(); ++n) {
      const host_tasks* const of = n == i ? nullptr : offered_[n].load(std::memory_order_acquire);
      if (of != nullptr && of->size() > 0) return true;
    }
    return false;
  }
  /// Runs one task of another PE here, on PE `i`; false when there is none.
  bool run_one(std::size_t i);

  /// For those that offer: there are so many tasks to take. Wakes sleepers, at most one for each.
  void call(int num_tasks) { asleep_.call(num_tasks); }

 private:
  const std::vector<executor*> pes_;
  std::vector<std::atomic<host_tasks*>> offered_;
  sleepers& asleep_;
};

}  // namespace imbrex
