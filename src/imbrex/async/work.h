#pragma once

#include <cstdint>

namespace imbrex {

/// How urgent a piece of work is among those that are ready on one PE: -8 (most urgent) to 7 (least); work of
/// equal priority runs in the order in which it became ready. Urgent work that never ends delays less urgent work, but
/// does not stop it: of 4096 pieces one is of those that wait.
struct priority {
  static constexpr int most_urgent = -8;
  static constexpr int least_urgent = 7;
  static constexpr int num_levels = least_urgent - most_urgent + 1;

  int value = 0;

  constexpr priority() = default;
  constexpr explicit priority(int v) : value(v < most_urgent ? most_urgent : v > least_urgent ? least_urgent : v) {}
  friend constexpr bool operator==(priority, priority) = default;
};

/// The priorities the runtime itself uses: what moves data goes before what computes.
namespace priorities {
inline constexpr priority system{-8};
inline constexpr priority communication{-4};
inline constexpr priority normal{0};
}  // namespace priorities

/// What becomes of a piece of work: it is done, or, when the job ends first, only its memory is given back.
enum class work_action { run, discard };

/// One thing for a PE to do: an intrusive node, so that queueing it allocates nothing. Messages and waiting
/// coroutines derive from it. It belongs to the queue until `act` is called, once, on the PE's thread.
struct work {
  using function = void (*)(work*, work_action);

  work* next = nullptr;
  function act = nullptr;
  std::int8_t level = 0;  // priority::value

  void set_priority(priority p) { level = static_cast<std::int8_t>(p.value); }
};

}  // namespace imbrex
