#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/look_interval.h"
#include "imbrex/hetero/coherence/copies.h"
#include "imbrex/hetero/graph/unseen_failures.h"
#include "imbrex/hetero/hetero_options.h"
#include "imbrex/hetero/open_reduction.h"
#include "imbrex/hetero/placement/host_tasks.h"
#include "imbrex/hetero/placement/placement.h"
#include "imbrex/hetero/placement/ready_list.h"
#include "imbrex/hetero/task_node.h"
#include "imbrex/hetero/tasks/domain_wait.h"
#include "imbrex/hetero/tasks/hetero_task.h"
#include "imbrex/hetero/visits/visit_queue.h"

namespace imbrex {

class task_recording;
class task_journal;
class task_stealing;
class task_trace;
class trace_track;

/// The objects and tasks of one PE (Thomadakis and Chrisochoides 2024, 3.1): finds what each task has to wait for, has
/// it placed, has its data brought, starts it. Tasks of devices are enqueued as soon as those before them are; tasks of
/// the host run on the PE, from its loop. For the PE's thread; others of the process, if it is open to them, use its
/// objects and tasks by `task_journal`.
class hetero_domain final : placement_view {
 public:
  /// The devices outlive the domain; `host` is the PE's host device. Throws `config_error`.
  hetero_domain(executor& pe, device& host, const std::vector<device*>& devices, const hetero_options& options = {});
  /// With a policy of the user's own.
  hetero_domain(executor& pe, device& host, const std::vector<device*>& devices, const hetero_options& options,
                std::unique_ptr<placement_policy> policy);
  /// Objects that are left are gone, and tasks that have not ended are dropped. No device may be at work for it.
  ~hetero_domain() override;
  hetero_domain(const hetero_domain&) = delete;
  hetero_domain& operator=(const hetero_domain&) = delete;
  /// Where it can, it begins with a cache line. Not by its type: it may also lie in the frame of a coroutine.
  static void* operator new(std::size_t bytes) { return ::operator new(bytes, std::align_val_t(64)); }
  static void operator delete(void* memory) { ::operator delete(memory, std::align_val_t(64)); }

  /// The domain of the calling PE, made now if it is the first time. Throws `usage_error` where there is no PE.
  static hetero_domain& current();

  executor& pe() const { return pe_; }
  const hetero_counts& counts() const { return copies_.counts(); }
  placement_policy& policy() const { return *policy_; }
  const std::vector<std::unique_ptr<place>>& places() const override { return copies_.places(); }
  /// Tasks submitted and not over.
  std::uint64_t num_outstanding() const { return num_outstanding_; }
  hetero_copies& copies() { return copies_; }
  /// \name See `all_tasks` and `fewer_tasks_than`
  ///@{
  domain_wait all_over();
  domain_wait fewer_than(std::uint64_t n);
  bool is_over(const domain_condition& c) const;
  void add(domain_condition& c);
  /// False: it has been woken.
  bool forget(const domain_condition& c);
  void wake_domain_waits();
  std::uint64_t num_submitted() const { return num_submitted_; }
  ///@}
  /// The oldest task up to that age that is not over, and no view.
  const task_node* first_left(std::uint64_t last_age) const;
  /// Whether nobody has an object, and no task is not over.
  bool is_unused() const { return copies_.num_objects() == 0 && num_outstanding_ == 0; }

  /// Takes over a node with its accesses and wishes, which waits for the tasks `after` besides; each handle counts as a
  /// reference. Throws `usage_error` or `out_of_memory` when it could never run; then nothing refers to the node any
  /// more, and it is destroyed if there is no handle.
  void submit(task_node* t, std::span<const hetero_task> after = {});
  /// Runs a task's function where it was placed, or has it enqueue; what it throws becomes the task's failure.
  static void call(task_node& t, stream* order, const host_tasks::taken& part = {});
  /// The same of a task that enqueues, with these addresses of its objects' copies.
  static void call_on(task_node& t, stream& order, std::span<std::byte* const> memory) {
    call_with(t, &order, {}, memory);
  }
  /// See `placement_policy::expected_ns`.
  double expected_ns(const task_node& t, const place& p) { return policy_->expected_ns(t, p); }
  /// Where tasks go instead while a window is recorded.
  task_recording* recording = nullptr;
  /// The newest data go to the host, and the copies at devices that nobody uses are freed.
  void evict(hetero_data& d) {
    copies_.evict(d);
    wake_up();
  }
  /// A task that was submitted with a blocker more than it has tasks to wait for, has one less.
  void unblock(task_node& t);
  /// See `hetero_task::cancel`.
  bool cancel(task_node& t);
  /// A task that stayed open is over; on a device, when what has been enqueued in its lane by now is.
  void close(task_node& t);
  /// Host tasks may be run by other PEs of the process from now on; this PE is `place` among them.
  void share_host_tasks(task_stealing& with, std::size_t place);
  /// For these: runs a task of another PE here, or parts of it, and says whether that was the last of it; and then at
  /// home, with what it did with objects and tasks (null: nothing).
  static bool run_anywhere(const host_tasks::taken& part);
  void ended_elsewhere(task_node& t, task_journal* deeds);
  /// Starts what can be started, now instead of when the PE's loop comes to it.
  void dispatch();
  /// For other PEs of the process, which use its objects and tasks once it is open.
  visit_queue& prepare_visits();
  /// What they ask for; null: it is not open to them.
  visit_queue* visits() const { return visits_ != nullptr && visits_->is_open() ? visits_.get() : nullptr; }
  /// What they have asked for by now is done.
  void see_visitors() {
    if (visits_ != nullptr && !visits_->empty()) [[unlikely]]
      visits_->do_all();
  }
  /// A handle is gone. Before the last one goes, another PE may have asked for one more; and what tasks have reduced
  /// into a part comes into the whole, also while tasks still use that part.
  void give_up(hetero_data& d) {
    if (d.handles == 1) {
      see_visitors();
      if (d.handles == 1 && d.reducing != nullptr && d.family != nullptr) [[unlikely]]
        close_reduction(d, 0);
    }
    --d.handles;
    copies_.release(&d);
  }
  /// A task that a visitor submits, and that `submit` has thrown for, fails.
  void refuse(task_node& t, std::exception_ptr why);
  /// A part of an object, found or made.
  hetero_data* part(hetero_data& of, const part_of_object& which);

  /// The ring of reductions that are open, from which it is none itself.
  open_reduction& reductions() { return reductions_; }
  /// Ends the one of an object that has one, or all: before who comes next.
  static void close_reduction(hetero_data& d, int priority);
  void close_reductions();
  /// Forgets all of them.
  void drop_reductions();
  /// Whether somebody has written all of an object, or will have, or would in a window that is being recorded.
  bool will_be_written(const hetero_data& d) const;

  /// Failures of tasks that nobody has been told of.
  unseen_failures& failures() { return failures_; }
  const unseen_failures& failures() const { return failures_; }
  /// `t` goes on only when a coroutine of the PE does something: it is no operation under way any more.
  void rest(task_node& t) {
    if (!t.in_progress) return;
    t.in_progress = false;
    if (--num_in_progress_ == 0) --pe_.operations;
  }
  /// Whether there are tasks that nothing lets run, if nothing else happens any more: they wait for views that are
  /// held.
  bool has_stuck() const;
  /// Lines about them, at most `limit`.
  std::vector<std::string> describe_stuck(std::size_t limit) const;
  /// Cycles of the PE that this thread runs: the processor's, or as many as pass in its time where that is virtual.
  std::uint64_t cycles() const {
    return is_real_time_ ? cycle_count() : static_cast<std::uint64_t>(static_cast<double>(moment()) * cycles_in_a_ns);
  }
  /// The oldest of all that are not over.
  const task_node* first_outstanding() const { return first_outstanding_; }

 private:
  struct turn : work {
    hetero_domain* owner = nullptr;
    static void take(work* w, work_action action);
  };
  struct point_wait;
  static constexpr double cycles_in_a_ns = 3;        // about
  static constexpr double is_long_cycles = 300'000;  // of a task of the host: about 100 microseconds

  // Submission, up to where a task could be started: task_submission.cc, eligibility.cc
  static void close_reductions_of(task_node& t);
  void check_after(const task_node& t, std::span<const hetero_task> after) const;
  void check_uses(task_node& t) const;
  void check_places(task_node& t) const;
  void join_bundle(const task_node& t);
  /// Of one that is not.
  void begin_progress(task_node& t) {
    t.in_progress = true;
    if (num_in_progress_++ == 0) ++pe_.operations;
  }
  void keep(task_node& t, std::span<const hetero_task> after);
  void note_submission_in_trace(const task_node& t, std::span<const hetero_task> after);
  void make_ready(task_node& t, const task_node* last_blocker = nullptr);
  void keep_from_policy(task_node& t);
  // Starting, again where something was not there yet: task_start.cc, eligibility.cc
  void start(task_node& t);
  void start_waiting_ones();
  bool leaves_host_tasks() const;
  bool run_one_of_host();
  void start_unplaced_ones();
  bool gather(task_node& t);
  hetero_copies::outcome pin_on_host(task_node& t);
  void await(task_node& t, const lane_point& p);
  void await_host_data(task_node& t);
  void await_large_data(task_node& t);
  place& choose_place(const task_node& t) const;
  place& place_of_data(const task_node& t) const;
  place& place_of_next_use(const task_node& t) const;
  static void call_with(task_node& t, stream* order, const host_tasks::taken& part, std::span<std::byte* const> memory);
  // On the host, here or on another PE: task_on_host.cc
  void run_on_host(task_node& t);
  void run_own_host_task(task_node& t);
  void expect_host_task(const task_node& t);
  static bool run_or_share(task_node& t);
  static void fail(task_node& t);
  /// Whether somebody wants to know when tasks of the host run.
  bool times_host_tasks() const { return learns_ || trace_ != nullptr; }
  static void note_begin_in_trace(const task_node& t, trace_track& track, const stream* order);
  /// Of the clock of the PE that this thread runs.
  static std::int64_t moment();
  // On devices: task_on_device.cc
  void run_on_device(task_node& t);
  lane& choose_lane(task_node& t) const;
  void enqueued(task_node& t, lane& l);
  static void note_begin(task_node& t, lane& l);
  static void note_end(task_node& t, lane& l);
  // The end: task_end.cc
  void complete(task_node& t);
  void release(task_node& t);
  void release_uses(task_node& t);
  // Who waits for tasks as a whole: domain_wait.cc
  void wake(domain_condition& c);
  void drop_far_conditions();
  // Of all at once: hetero_domain.cc
  void drop(task_node& t);
  void wake_up();

  bool eligible(const task_node& t, const place& p) const override;
  missing_data missing(const task_node& t, const place& p) const override;
  bool has_room(const place& p) const override;

  executor& pe_;
  const hetero_options options_;
  hetero_copies copies_;
  std::unique_ptr<placement_policy> policy_;
  const bool is_real_time_;            // that PEs of this process go by
  const bool learns_;                  // the policy, from what tasks took
  std::unique_ptr<task_trace> trace_;  // null: the PE is not traced
  std::unique_ptr<visit_queue> visits_;
  std::uint64_t num_submitted_ = 0;
  std::uint64_t num_outstanding_ = 0;
  std::uint64_t num_in_progress_ = 0;  // of these: neither blocked by another task nor held open by a coroutine
  unseen_failures failures_;
  open_reduction reductions_;
  domain_condition* waits_ = nullptr;
  task_node* first_outstanding_ = nullptr;
  task_node* last_outstanding_ = nullptr;
  ready_list doomed_;                        // they will fail
  ready_list unplaced_;                      // they could run, and it is not the policy that says where
  ready_list gathered_;                      // what they waited for has come
  std::vector<ready_list> short_of_memory_;  // by place: they wait for room, before all that come later
  host_tasks runnable_;                      // here or elsewhere
  task_stealing* helpers_ = nullptr;
  std::size_t place_among_helpers_ = 0;
  turn turn_;
  bool turn_posted_ = false;
  bool dispatching_ = false;
  bool changed_ = false;                      // while dispatching
  double host_task_cycles_ = 0;               // that those took which this PE ran of late, or may take that it has now
  std::int64_t looked_away_until_ns_ = 0;     // the end of the last long one of these
  look_interval clock_interval_{50'000, 64};  // tasks of the host between two looks at the clock, while dispatching
};

}  // namespace imbrex
