#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/virtual_time/core/event_list.h"

namespace imbrex {

class virtual_pe;

/// What PEs' time went to.
enum class pe_cost { dispatch, launch, message, notice, own, idle };
inline constexpr std::size_t num_pe_costs = 6;

/// Virtual time, and what happens in it: one event after the other, on one thread. Everything that a run in virtual
/// time does is a turn of a PE, or something that a network or a device does of its own.
class simulation {
 public:
  explicit simulation(std::uint64_t seed) : random_(mix(seed)) {}
  simulation(const simulation&) = delete;
  simulation& operator=(const simulation&) = delete;

  /// Nanoseconds since the job began.
  std::int64_t now() const { return now_; }
  /// `e` happens then; at once when that has passed.
  void at(std::int64_t when, timed_event& e) { events_.put(when < now_ ? now_ : when, e); }

  /// The same of a function, once: for what is rare enough to cost an allocation from the slab.
  template <class F>
  void call_at(std::int64_t when, F f) {
    struct call : timed_event {
      explicit call(F g) : function(std::move(g)) {}
      F function;
    };
    auto* const c = new (slab::allocate(sizeof(call))) call(std::move(f));
    c->happen = [](timed_event& e) {
      auto& self = static_cast<call&>(e);
      F todo = std::move(self.function);
      self.~call();
      slab::free(&self);
      todo();
    };
    at(when, *c);
  }

  /// A factor whose logarithm is normally distributed with this deviation; 1 where there is none.
  double noise(double deviation);

  /// Until all PEs that began have stopped, and what was under way then has come. Throws `error` when nothing happens
  /// any more before that.
  void run();

  /// Any thread that is not the one of the run: something was posted to this PE by a thread of the program's own.
  void called_from_elsewhere(virtual_pe& pe);

  /// Whether it has run: nothing happens any more.
  bool is_over() const { return is_over_; }

  std::uint64_t num_events() const { return num_events_; }
  /// When the last PE stopped.
  std::int64_t ended_at() const { return ended_at_; }
  /// Of all PEs together.
  void count(pe_cost what, std::int64_t ns) { costs_[static_cast<std::size_t>(what)] += ns; }
  std::int64_t total(pe_cost what) const { return costs_[static_cast<std::size_t>(what)]; }
  void begins(virtual_pe&) { ++num_running_; }
  void stops(virtual_pe&) { --num_running_; }
  int num_running() const { return num_running_; }

  /// PEs that the one that has its turn has posted to since its clock last moved on.
  std::vector<virtual_pe*> called;

 private:
  void step();
  void see_to_calls();

  event_list events_;
  std::int64_t now_ = 0;
  std::int64_t ended_at_ = 0;
  std::uint64_t num_events_ = 0;
  int num_running_ = 0;
  bool is_over_ = false;
  std::atomic<bool> any_calls_{false};
  std::mutex calls_mutex_;
  std::vector<virtual_pe*> calls_;
  std::array<std::int64_t, num_pe_costs> costs_{};
  random_sequence random_;
};

}  // namespace imbrex
