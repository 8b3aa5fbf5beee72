#include "imbrex/virtual_time/core/simulation.h"

#include <cmath>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/virtual_time/core/virtual_pe.h"

namespace imbrex {

double simulation::noise(double deviation) {
  if (deviation <= 0) return 1;
  constexpr double unit = 0x1p-53;
  const double u = (static_cast<double>(random_.next() >> 11) + 0.5) * unit;
  const double v = static_cast<double>(random_.next() >> 11) * unit;
  const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
  return std::exp(deviation * normal - deviation * deviation / 2);  // its mean is 1
}

void simulation::called_from_elsewhere(virtual_pe& pe) {
  const std::lock_guard lock(calls_mutex_);
  calls_.push_back(&pe);
  any_calls_.store(true, std::memory_order_release);
}

/// At the time that it is now: real threads know no other.
void simulation::see_to_calls() {
  std::vector<virtual_pe*> all;
  {
    const std::lock_guard lock(calls_mutex_);
    all = std::exchange(calls_, {});
    any_calls_.store(false, std::memory_order_release);
  }
  for (virtual_pe* const pe : all) pe->deliver([] {});
}

void simulation::step() {
  if (any_calls_.load(std::memory_order_acquire)) [[unlikely]]
    see_to_calls();
  const event_list::entry e = events_.take();
  if (!events_.empty()) {  // in a large run hardly anything is in the cache
    const auto* const next = reinterpret_cast<const char*>(events_.first().what);
    __builtin_prefetch(next);
    __builtin_prefetch(next + 64);
    __builtin_prefetch(next + 128);
  }
  now_ = e.at;
  ++num_events_;
  e.what->happen(*e.what);
}

void simulation::run() {
  while (num_running_ > 0) {
    if (events_.empty()) {
      throw error(fmt::format("nothing happens any more at {:.6f} s of virtual time, but {} PEs have not ended",
                              static_cast<double>(now_) * 1e-9, num_running_));
    }
    step();
  }
  ended_at_ = now_;
  while (!events_.empty()) step();  // what was on its way comes to PEs that have stopped, and is freed there
  is_over_ = true;
}

}  // namespace imbrex
