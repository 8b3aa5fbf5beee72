#pragma once

#include <chrono>

#include "imbrex/async/executor.h"

namespace imbrex {

namespace detail {
[[noreturn]] void refuse_to_spend(std::chrono::nanoseconds computed);
}

/// The time of the PE that asks, as a clock of `<chrono>`: `clock::now() - begin` is a duration. The machine's steady
/// clock, but in a run in virtual time (docs/virtual-time.md) the simulated machine's. Programs that measure themselves
/// use this one. On a thread that is no PE: the steady clock.
struct clock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<clock>;
  static constexpr bool is_steady = true;

  static time_point now() {
    const executor* const pe = executor::current();
    return time_point(duration(pe != nullptr ? pe->now_ns() : now_ns()));
  }
};

/// Says that this PE has computed for so long. In a run in virtual time that reckons with what programs declare, the
/// PE's time moves on by it; otherwise nothing happens. So a program can tell what a part of it costs on the simulated
/// machine, and leave that part out. Throws `usage_error` of less than nothing, and of more than 100 days.
inline void spend(std::chrono::nanoseconds computed) {
  if (constexpr std::chrono::hours most{2400}; computed.count() < 0 || computed > most)
    detail::refuse_to_spend(computed);
  if (const executor* const pe = executor::current(); pe != nullptr) pe->time->spend(computed.count());
}

}  // namespace imbrex
