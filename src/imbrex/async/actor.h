#pragma once

#include <cstdint>

#include "imbrex/async/executor.h"

namespace imbrex {

/// Whose code a PE runs: the object layer's elements are such.
struct actor {};

/// Is told when the code of another actor begins to run on a PE, and when one has left it, since it ended or moved. On
/// the PE's thread.
class actor_observer {
 public:
  virtual ~actor_observer() = default;
  /// From `now` on `to` runs, no longer `from`; null: the runtime.
  virtual void run_changes(const actor* from, const actor* to, std::int64_t now) = 0;
  virtual void has_left(const actor& a) = 0;
};

/// While it lives the code of an actor runs on a PE, until then and afterwards that of whoever ran before: turns lie
/// inside one another. All code of elements runs in one (constructors and destructors, entry methods of every
/// kind, post methods, `serialize`, coroutines that are resumed), and nothing else says whose code runs
/// (`executor::acting`).
class actor_turn {
 public:
  [[gnu::always_inline]] actor_turn(executor& pe, const actor* who) : pe_(pe), before_(pe.acting_) {
    pe.acting_ = who;
    if (pe.observer != nullptr) [[unlikely]]
      tell(pe, before_, who);
  }
  [[gnu::always_inline]] ~actor_turn() {
    if (pe_.observer != nullptr) [[unlikely]]
      tell(pe_, pe_.acting_, before_);
    pe_.acting_ = before_;
  }
  actor_turn(const actor_turn&) = delete;
  actor_turn& operator=(const actor_turn&) = delete;

 private:
  // Not a member: that would keep all of this in memory.
  [[gnu::cold, gnu::noinline]] static void tell(const executor& pe, const actor* from, const actor* to) {
    if (from != to) pe.observer->run_changes(from, to, pe.now_ns());
  }

  executor& pe_;
  const actor* const before_;
};

}  // namespace imbrex
