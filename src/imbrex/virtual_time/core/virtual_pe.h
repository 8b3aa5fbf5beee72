#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "imbrex/base/time_source.h"
#include "imbrex/pe/scheduler.h"
#include "imbrex/virtual_time/core/simulation.h"

namespace imbrex {

/// What a PE's own doings take.
struct cpu_costs {
  std::int64_t dispatch_ns = 100;   ///< for each message that is taken up, and each coroutine that goes on
  std::int64_t hand_over_ns = 100;  ///< until another PE of the process sees what was posted to it
  bool measures = false;  ///< what a turn takes this machine's processor is added, times `slowdown`; else `spend` is
  double slowdown = 1;    ///< of the simulated processor against this one
};

/// One PE in virtual time: its scheduler has a turn whenever there is something for it, a piece of work each, and its
/// clock moves on by what that takes. What it posts to others leaves at its clock then. Other PEs' turns may lie in its
/// past, but nothing that they do reaches it before its time. Whoever runs in a turn sees this PE's clock; outside of
/// turns it stands.
class virtual_pe final : public time_source, private timed_event {
 public:
  /// `become` makes the calling thread this PE's. The PE takes its time from here, and rests until it is called.
  virtual_pe(simulation& all, scheduler& pe, const cpu_costs& costs, std::function<void()> become);

  /// The one that `pe` was given.
  static virtual_pe& of(const executor& pe) {
    return const_cast<virtual_pe&>(static_cast<const virtual_pe&>(*pe.time));
  }

  std::int64_t now_ns() const override { return costs_.measures ? clock_ + measured() : clock_; }
  /// The program has computed for so long.
  void spend(std::int64_t ns) const override {
    if (!costs_.measures) const_cast<virtual_pe*>(this)->pay(pe_cost::own, ns);
  }
  /// The runtime or a driver has, in this turn.
  void pay(pe_cost what, std::int64_t ns) {
    if (!simulation_.called.empty()) hand_over_posts();  // before the clock moves on
    clock_ += ns;
    simulation_.count(what, ns);
  }
  /// What comes from outside takes its time: paid with the next turn.
  void owe(std::int64_t ns) { owed_ += ns; }
  /// It has no turns, as if it waited for a driver, until it was released as often.
  void hold() { ++num_holds_; }
  void release() {
    if (--num_holds_ == 0 && std::exchange(wanted_while_held_, false)) have_turn(simulation_.now());
  }
  /// ... but for what a driver waits for itself, from when that is there until it has been done.
  void is_wanted() { ++num_wanted_; }
  void was_wanted() { --num_wanted_; }

  /// It has a first turn.
  void begin();
  /// Something for it has just been posted by itself, outside of its turn, or is about to be: `deliver` calls `post`
  /// with this PE as the thread's.
  template <class F>
  void deliver(F post) {
    const executor* const before = executor::current();
    task_journal* const journal = executor::journal();
    executor::set_current(&pe_);
    post();
    executor::set_current(const_cast<executor*>(before));
    executor::set_journal(journal);
    have_turn(simulation_.now());
  }

  scheduler& pe() { return pe_; }
  simulation& all() { return simulation_; }

 private:
  struct idle_look : timed_event {
    virtual_pe* of = nullptr;
  };

  void have_turn(std::int64_t when);
  void turn();
  void rest();
  void plan_look();
  void look_when_idle();
  void hand_over_posts();
  std::int64_t measured() const;
  void begin_measuring();
  void end_measuring();

  simulation& simulation_;
  scheduler& pe_;
  const cpu_costs costs_;
  const std::function<void()> become_;
  std::int64_t clock_ = 0;
  std::int64_t owed_ = 0;
  std::int64_t measuring_since_ = 0;  // 0: not
  int num_holds_ = 0;
  int num_wanted_ = 0;
  bool wanted_while_held_ = false;
  bool has_turn_ = false;  // that is still to come
  bool is_idle_ = false;
  bool has_stopped_ = false;
  std::int64_t idle_since_ = 0;
  idle_look look_;
  std::int64_t look_at_ = 0;  // 0: none is planned
};

}  // namespace imbrex
