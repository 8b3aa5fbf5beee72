#pragma once

#include <sched.h>

#include <atomic>

#include "imbrex/base/clock.h"

namespace imbrex {

/// Lets one thread at a time into MPI. Held for well under a microsecond, so waiting spins; a waiter whose holder seems
/// to have lost its core yields its own.
class mpi_lock {
 public:
  bool try_lock() {
    return !taken_.load(std::memory_order_relaxed) && !taken_.exchange(true, std::memory_order_acquire);
  }
  void lock() {
    for (int spins = 0; !try_lock(); ++spins) {
      if (spins < 2000) {
        cpu_relax();
      } else {
        sched_yield();
      }
    }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  alignas(64) std::atomic<bool> taken_{false};
};

}  // namespace imbrex
