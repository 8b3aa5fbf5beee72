#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "imbrex/async/mpsc_queue.h"
#include "imbrex/async/ready_queue.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/memory/thread_place.h"
#include "imbrex/base/time_source.h"
#include "imbrex/trace/trace.h"

namespace imbrex {

struct activity;
struct waiter;
struct actor;
class device;
class actor_ties;
class actor_observer;
class actor_turn;
class hetero_domain;
class progress_source;
class task_journal;

/// A PE's queue of work, and its sleep. Exactly one thread, its owner, runs what is posted; everybody may post.
/// Nothing else resumes a coroutine of the PE.
class executor {
 public:
  executor() = default;
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  /// Hands `item` over to the PE; any thread; never blocks. From the owner's thread it costs no atomic operation.
  void post(work* item) {
    if (current_ == this) {
      ready_.push(item);
    } else if (inbox_.push(item)) [[unlikely]] {
      wake();
    }
  }

  /// Any thread, some time before `post`: makes it cheaper.
  void prepare_post() const { inbox_.prepare_push(); }

  /// As `post`, from the owner's thread only.
  void post_here(work* item) { ready_.push(item); }

  /// Owner: queues items that had come before and were kept, before all of their priorities, in their order.
  void post_in_front(const std::vector<work*>& items) {
    for (auto item = items.rbegin(); item != items.rend(); ++item) ready_.push_front(*item);
  }

  /// The executor whose owner is the calling thread, or null.
  static executor* current() { return current_; }
  /// The calling thread becomes the owner (null: of none).
  static void set_current(executor* e) {
    current_ = e;
    journal_ = e != nullptr ? e->visits : nullptr;
  }
  /// Who keeps what the calling thread does with objects and tasks that are not its PE's; null: it does nothing with
  /// such.
  static task_journal* journal() { return journal_; }
  static void set_journal(task_journal* j) { journal_ = j; }

  /// Owner: moves what others posted to the ready queue; true when there was something. Looks at the inbox each time,
  /// except that after a large batch it first runs some of it: each look takes the inbox's cache line from the threads
  /// that are filling it.
  bool collect() {
    if (batch_left_ != 0) [[unlikely]] {
      if (ready_.empty() || cycle_count() - batch_taken_ > batch_cycles) {
        batch_left_ = 0;
      } else {
        --batch_left_;
        return false;
      }
    }
    if (inbox_.empty()) [[likely]] {
      return false;
    }
    return collect_all();
  }

  /// Owner: the same, whatever there is, now.
  void collect_everything() {
    batch_left_ = 0;
    if (!inbox_.empty()) collect_all();
  }

  /// Owner: the next item to run, or null. `collect` first.
  work* next() { return ready_.pop(); }

  /// Owner: takes back an item that somebody else posted or is just about to post.
  void withdraw(work* item);

  bool has_ready() const { return !ready_.empty(); }
  bool inbox_empty() const { return inbox_.empty(); }
  /// Any thread.
  bool inbox_was_empty() const { return inbox_.was_empty(); }
  /// Owner: of all items that others have posted.
  std::uint64_t num_collected() const { return num_collected_; }

  /// Owner: sleeps until something is posted, or for at most `microseconds` (negative: no limit). Returns at
  /// once when something is there.
  void sleep(std::int64_t microseconds);

  /// Owner, in place of `sleep`, for whoever drives it without a thread of its own: the next item that somebody else
  /// posts calls `on_call`. False when something is there already.
  bool rest() { return inbox_.declare_asleep(); }
  /// ... and takes what others have posted, linked by `next`, the oldest first, to be posted again later.
  work* take_inbox() { return inbox_.take_all(); }

  void set_schedule_seed(std::uint64_t seed) { ready_.set_schedule_seed(seed); }
  bool has_schedule_seed() const { return ready_.has_schedule_seed(); }

  /// Ends the job with this report; from the owner's thread. Set by whoever runs the PE.
  void fail(const std::string& report) {
    if (on_failure != nullptr) on_failure(*this, report);
  }
  void (*on_failure)(executor&, const std::string&) = nullptr;

  /// The coroutine chain that runs now on the owner's thread, null between them.
  activity* running = nullptr;
  /// \name What it does, for other threads to see
  ///@{
  /// The entry method, task or function of a stream that was begun last, for ever valid; null: something of the
  /// runtime's.
  void does(const char* what) { doing_.store(what, std::memory_order_relaxed); }
  const char* doing() const { return doing_.load(std::memory_order_relaxed); }
  /// Owner: another turn of its loop begins, or it has nothing to do (an odd number).
  void begins_turn() {
    turns_.store((turns_.load(std::memory_order_relaxed) & ~std::uint64_t{1}) + 2, std::memory_order_relaxed);
    does(nullptr);
  }
  void rests_now() { turns_.store(turns_.load(std::memory_order_relaxed) | 1, std::memory_order_relaxed); }
  std::uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  ///@}

  /// Whose code runs now on the owner's thread; null: the runtime's. `actor_turn` says so.
  const actor* acting() const { return acting_; }
  /// What binds it to this PE; null: nobody's code runs, or nobody counts.
  actor_ties* ties_of_acting() const { return acting_ != nullptr && ties_of != nullptr ? ties_of(*acting_) : nullptr; }
  /// Operations under way that will end without a message (a device, a timer, another thread): quiescence waits.
  std::uint64_t operations = 0;
  /// Operations on GPUs that this PE looks at from its loop; null: none.
  progress_source* devices = nullptr;
  /// This PE's coherent objects and tasks: null before the first is made, by `open_tasks`.
  hetero_domain* tasks = nullptr;
  void (*open_tasks)(executor&) = nullptr;
  /// The `journal` of its thread while no task of another PE runs there: null before the PEs share objects.
  task_journal* visits = nullptr;
  /// What it has asked other PEs of the process to do with their objects and tasks, and has done itself: quiescence.
  std::uint64_t errands_given = 0, errands_done = 0;
  /// PE `i` of its process; null behind the last. Set by whoever runs them.
  executor* (*pe_of_process)(executor& pe, std::size_t i) = nullptr;
  /// The type of the chare that is being constructed, null at other times: who memory is for.
  const char* constructing_type = nullptr;
  /// Where this PE's doings are recorded; null: nowhere.
  trace_track* track = nullptr;
  /// Where tracks of streams come from; null when nothing is recorded.
  trace_recorder* recorder = nullptr;

  std::int64_t now_ns() const { return time->now_ns(); }

 private:
  friend class actor_turn;
  void wake();
  bool collect_all();
  void warn_of_flood(std::uint32_t count);

  IMBREX_THREAD_LOCAL executor* current_;
  IMBREX_THREAD_LOCAL task_journal* journal_;

  static constexpr std::uint32_t flood = std::uint32_t{1} << 20;  // in the inbox at a time
  static constexpr std::uint32_t largest_batch = 64;
  static constexpr std::uint64_t batch_cycles = 8000;  // about 3 microseconds

  ready_queue ready_;
  std::uint32_t batch_left_ = 0;
  std::uint64_t batch_taken_ = 0;
  bool warned_of_flood_ = false;
  std::uint64_t num_collected_ = 0;
  alignas(64) mpsc_queue inbox_;
  alignas(64) std::atomic<std::uint32_t> wake_count_{0};
  const actor* acting_ = nullptr;
  std::atomic<const char*> doing_{nullptr};
  std::atomic<std::uint64_t> turns_{0};

 public:
  // Behind what is looked at for each message.
  /// The first of those who are told whose code runs. Null: nobody looks.
  actor_observer* observer = nullptr;
  /// Asked before a coroutine whose wait is over goes on: true, and it goes on elsewhere. Null: nobody is to be asked.
  bool (*before_resuming)(waiter&) = nullptr;
  /// This PE's handle of what is another PE's `d`. Set by the layer that knows devices; null: there is one only.
  device* (*device_like)(executor& pe, const device& d) = nullptr;
  /// Somebody else has posted something to this PE, which rests: called by them in place of waking a thread.
  void (*on_call)(executor& pe) = nullptr;
  /// What binds an actor to this PE. Set by the layer that has actors.
  actor_ties* (*ties_of)(const actor&) = nullptr;
  /// What this PE takes the time from. Set before it runs.
  const time_source* time = &machine_time();
};

}  // namespace imbrex
