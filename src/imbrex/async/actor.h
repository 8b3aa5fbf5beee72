#pragma once

#include <cstdint>
#include <utility>

#include "imbrex/async/executor.h"
#include "imbrex/base/memory/slab.h"

namespace imbrex {

/// Whose code a PE runs: the object layer's elements are such.
struct actor {};

class actor_ties;
struct departure;

/// Something on a PE that follows an actor to another PE of the process: memory that it has lent, which will come back
/// to it, or a stream that it made. In the list of its actor until it is back, or has ended, or the actor has.
class actor_follower {
 public:
  actor_follower() = default;
  actor_follower(const actor_follower&) = delete;
  actor_follower& operator=(const actor_follower&) = delete;
  ~actor_follower() { unlink(); }
  void link(actor_ties& t);
  void unlink();

  /// The actor is about to leave the PE. On that.
  void (*leave)(actor_follower&, departure&) = nullptr;
  /// Of a stream: whether it can go along now, else the actor stays. Of memory that was lent: whether it is back, and
  /// devices have read it.
  bool (*is_idle)(const actor_follower&) = nullptr;
  /// Of what goes along at once (a stream); else null. The actor has come to `pe`. On that.
  void (*arrive)(actor_follower&, executor& pe) = nullptr;

  /// Of what lingers (`lingers`): ends it; it is not linked any more.
  void (*over)(actor_follower&) = nullptr;

  bool is_linked() const { return of_ != nullptr; }
  /// Stays linked until it is idle, and is then to be ended by its actor, at some time: nobody else knows it any more.
  /// Of those that linger in the same order (not 0) only the last one stays: the others are idle before it. The list is
  /// gone through: as many as the actor has streams, memory that is away, and orders.
  void lingers(std::uint64_t order = 0, std::uint64_t place = 0);

 private:
  friend class actor_ties;
  actor_ties* of_ = nullptr;
  actor_follower* previous_ = nullptr;
  actor_follower* next_ = nullptr;
  std::uint64_t order_ = 0;
  std::uint64_t place_ = 0;
};

/// What ties an actor to its PE (futures, exposed memory), by number, and what follows it. It goes with the actor from
/// PE to PE, and lives as long as it or what is counted. For the PE's thread.
class actor_ties {
 public:
  static actor_ties* make() { return new (slab::allocate(sizeof(actor_ties))) actor_ties; }
  /// Its actor ends.
  static void abandon(actor_ties* t) {
    if (t == nullptr) return;
    t->when_free_ = nullptr;
    while (t->followers_ != nullptr) end_follower(*t->followers_);
    if (t->count_ == 0) return slab::free(t);
    t->abandoned_ = true;
  }
  /// Whether it cannot leave the PE.
  bool ties() const { return count_ > 0; }
  /// Whether something is away and will come back, or is still read by devices.
  bool is_followed() const {
    for (const actor_follower* f = followers_; f != nullptr; f = f->next_) {
      if (f->arrive == nullptr && !f->is_idle(*f)) return true;
    }
    return false;
  }
  /// Whether what goes along at once can.
  bool followers_are_idle() const {
    for (const actor_follower* f = followers_; f != nullptr; f = f->next_) {
      if (f->arrive != nullptr && !f->is_idle(*f)) return false;
    }
    return true;
  }
  /// Calls `f(follower)` for each.
  template <class F>
  void for_each_follower(F&& f) const {
    for (const actor_follower* one = followers_; one != nullptr; one = one->next_) f(*one);
  }
  /// Called when there is nothing of either kind any more, once; null: nobody wants to know.
  void call_when_free(void (*f)(void*), void* argument) {
    when_free_ = f;
    argument_ = argument;
  }
  void followers_leave(departure& d) {
    for (actor_follower* f = followers_; f != nullptr; f = f->next_) f->leave(*f, d);
  }
  void followers_arrive(executor& pe) {
    for (actor_follower* f = followers_; f != nullptr; f = f->next_) {
      if (f->arrive != nullptr) f->arrive(*f, pe);
    }
  }

  /// What it enqueues into its streams is recorded (`recorded_rounds`).
  bool records_rounds = false;

 private:
  friend class actor_tie;
  friend class actor_follower;
  static constexpr std::uint32_t most_lingering = 64;

  static void end_follower(actor_follower& f) {
    f.unlink();
    if (f.over != nullptr) f.over(f);
  }
  void end_idle_ones();
  void untie() {
    if (--count_ > 0) [[likely]]
      return;
    if (abandoned_) return slab::free(this);
    look_whether_free();
  }
  void look_whether_free() {
    if (when_free_ != nullptr && count_ == 0 && !is_followed()) [[unlikely]]
      std::exchange(when_free_, nullptr)(argument_);
  }

  std::uint32_t count_ = 0;
  std::uint32_t num_lingering_ = 0;
  bool abandoned_ = false;
  void (*when_free_)(void*) = nullptr;
  void* argument_ = nullptr;
  actor_follower* followers_ = nullptr;
};

inline void actor_follower::link(actor_ties& t) {
  of_ = &t;
  next_ = t.followers_;
  if (next_ != nullptr) next_->previous_ = this;
  t.followers_ = this;
}

inline void actor_follower::unlink() {
  actor_ties* const t = std::exchange(of_, nullptr);
  if (t == nullptr) return;
  (previous_ != nullptr ? previous_->next_ : t->followers_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  previous_ = next_ = nullptr;
  t->look_whether_free();
}

/// Counts as one of the ties of an actor until it ends, which it does on the same PE.
class actor_tie {
 public:
  /// Of the actor whose code runs; of none if that is the runtime's.
  static actor_tie of_acting(const executor& pe) { return actor_tie(pe.ties_of_acting()); }
  actor_tie() = default;
  explicit actor_tie(actor_ties* t) : ties_(t) {
    if (ties_ != nullptr) ++ties_->count_;
  }
  actor_tie(actor_tie&& other) noexcept : ties_(std::exchange(other.ties_, nullptr)) {}
  actor_tie& operator=(actor_tie&& other) noexcept {
    std::swap(ties_, other.ties_);
    return *this;
  }
  ~actor_tie() {
    if (ties_ != nullptr) ties_->untie();
  }

 private:
  actor_ties* ties_ = nullptr;
};

/// Is told when the code of another actor begins to run on a PE, and when one has left it, since it ended or moved. On
/// the PE's thread. A PE has any number of them.
class actor_observer {
 public:
  virtual ~actor_observer() = default;
  void watch(executor& pe) { next_ = std::exchange(pe.observer, this); }
  void unwatch(executor& pe) {
    for (actor_observer** o = &pe.observer; *o != nullptr; o = &(*o)->next_) {
      if (*o != this) continue;
      *o = std::exchange(next_, nullptr);
      return;
    }
  }
  /// Tells all of `pe` that the code of `to` runs from now on, no longer that of `from`.
  static void tell_change(const executor& pe, const actor* from, const actor* to) {
    const std::int64_t now = pe.now_ns();
    for (actor_observer *o = pe.observer, *following; o != nullptr; o = following) {
      following = o->next_;  // what is told may end its watch
      o->run_changes(from, to, now);
    }
  }
  static void tell_left(const executor& pe, const actor& a) {
    for (actor_observer *o = pe.observer, *following; o != nullptr; o = following) {
      following = o->next_;
      o->has_left(a);
    }
  }

 protected:
  /// From `now` on `to` runs, no longer `from`; null: the runtime.
  virtual void run_changes(const actor* from, const actor* to, std::int64_t now) = 0;
  virtual void has_left(const actor& a) = 0;

 private:
  actor_observer* next_ = nullptr;
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
    if (from != to) actor_observer::tell_change(pe, from, to);
  }

  executor& pe_;
  const actor* const before_;
};

}  // namespace imbrex
