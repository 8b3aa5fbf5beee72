#include "imbrex/pe/idle_policy.h"

#include <sched.h>

#include <algorithm>

#include "imbrex/base/clock.h"
#include "imbrex/pe/scheduler.h"
#include "imbrex/trace/trace_slice.h"

namespace imbrex {

namespace {
constexpr std::int64_t eager_ns = 3'000;         // without a pause, which takes 140 cycles on some cores
constexpr std::int64_t yielding_ns = 2'000'000;  // to others who may need the core more, before naps
constexpr std::int64_t nap_us = 50;
}  // namespace

/// One time of waiting.
struct spin_then_sleep::spell {
  const std::int64_t began;
  std::int64_t now = began;
  bool eager = true;
  unsigned rounds = 0;
};

void spin_then_sleep::wait(scheduler& pe) {
  const trace_slice idle(pe.track, "idle", trace_category::idle);
  if (!pe.polls_network() && pe.devices == nullptr && comes_at_once(pe)) return;
  spell s{.began = pe.now_ns()};
  while (!pe.has_something()) {
    pe.is_idle_since(s.began, s.now);
    if (pe.has_ready()) break;
    s.now - s.began < spin_ns_ ? spin(pe, s) : nap(pe, s);
    if ((++s.rounds & 3) == 0 || s.now - s.began >= spin_ns_) s.now = pe.now_ns();
    if (pe.look() != pe_step::nothing) break;
  }
  pe.withdraw_counts();
}

/// Whether something comes within half a microsecond. Without a look at the clock, which takes as long on some
/// machines.
bool spin_then_sleep::comes_at_once(scheduler& pe) {
  constexpr std::uint64_t limit = 1500;  // cycles
  const std::uint64_t began = cycle_count();
  let_some_more_come(pe, began);
  do {
    for (int i = 0; i < 16; ++i) {
      if (!pe.inbox_empty()) return true;
    }
    if (pe.has_something() || pe.help()) return true;
  } while (cycle_count() - began < limit);
  return false;
}

/// Each look at the inbox takes its line from those who send. So where small messages have come one after another for a
/// while, it is left alone for a moment.
void spin_then_sleep::let_some_more_come(const scheduler& pe, std::uint64_t began) {
  constexpr std::uint64_t apart = 200, pause = 800;  // cycles
  constexpr int for_a_while = 8;
  const bool is_flood = began - last_time_ < apart * (pe.num_collected() - collected_before_);
  num_floods_ = is_flood ? std::min(num_floods_ + 1, 2 * for_a_while) : num_floods_ / 2;
  last_time_ = began;
  collected_before_ = pe.num_collected();
  if (num_floods_ <= for_a_while) return;
  while (cycle_count() - began < pause) cpu_relax();
}

void spin_then_sleep::spin(scheduler& pe, spell& s) {
  for (int i = 0; i < 16 && pe.inbox_empty(); ++i) {
    if (!s.eager) cpu_relax();
  }
  if (s.eager && s.now - s.began > eager_ns) {
    s.eager = false;
    slab::flush_returns();
    pe.publish_counts();
  }
}

void spin_then_sleep::nap(scheduler& pe, const spell& s) {
  slab::flush_returns();
  if (pe.devices_are_busy() || (pe.polls_network() && s.now - s.began <= yielding_ns)) {
    sched_yield();
  } else if (pe.polls_network()) {
    pe.sleep(nap_us);
  } else {
    pe.publish_counts();
    pe.sleep_until_called(s.now);
  }
}

}  // namespace imbrex
