#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "imbrex/async/actor.h"
#include "imbrex/async/completion.h"
#include "imbrex/base/error.h"
#include "imbrex/device/event.h"
#include "imbrex/device/graph.h"
#include "imbrex/device/kernel_cost.h"
#include "imbrex/device/shared_memory.h"
#include "imbrex/device/stream_operation.h"

namespace imbrex {

class device;
class recorded_rounds;
struct launch_shape;

/// How urgent a stream is: what moves data goes before what computes (Choi et al. 2020, IV-A).
enum class stream_priority { high, low };

/// A queue of operations of one device that run one after the other, at the same time as those of other streams.
/// Enqueueing returns at once; memory named in an operation must live until it has finished. Every operation of a
/// device names its stream: there is no default one. For the PE that made it.
class stream {
 public:
  virtual ~stream() = default;
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  virtual device& on() const = 0;
  virtual stream_priority urgency() const = 0;
  /// What it is called in reports: "the compute stream of block[0,1,0]".
  const std::string& label() const { return label_; }

  /// Calls `f` on this PE in stream order: what is enqueued later waits for it. On the host device this is what
  /// `imbrex::launch` of a kernel is on others: `f` should be a small object that captures pointers and numbers by
  /// value. On a GPU the stream stops there until the PE has run `f`, which costs microseconds. `name` has static
  /// lifetime (traces). What `f` throws ends the job, naming `name` and the stream; so for `then`.
  template <class F>
  void call(const char* name, F f) {
    enqueue(detail::function_operation<F>::make(name, true, std::move(f)));
  }
  /// Calls `f` on this PE once all that was enqueued before has finished; what is enqueued later does not wait for it
  /// on a GPU. For something that computes little.
  template <class F>
  void then(const char* name, F f) {
    enqueue(detail::function_operation<F>::make(name, false, std::move(f)));
  }
  /// `then` of a function that changes no memory of the program's (`may_still_write`): what sends.
  template <class F>
  void then_reading(const char* name, F f) {
    stream_operation* const op = detail::function_operation<F>::make(name, false, std::move(f));
    op->only_reads = true;
    enqueue(op);
  }

  /// Copies bytes between places this device reaches; the ranges do not overlap.
  virtual void copy(void* to, const void* from, std::size_t bytes) = 0;
  /// The same between memory of the host, where that is pinned, and of the device: PEs with a GPU each that do so at
  /// once do not wait for each other, as they do with `copy`.
  virtual void transfer(void* to, const void* from, std::size_t bytes) { copy(to, from, bytes); }
  /// `num_rows` times `bytes`, as `copy`; they begin `to_pitch` and `from_pitch` bytes apart. As one operation where
  /// the device can.
  virtual void copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t bytes,
                         std::size_t num_rows);
  /// Sets each of the bytes to `value`. They are memory of this device or pinned memory: CUDA does not fill what the
  /// host has from elsewhere.
  virtual void fill(void* to, unsigned char value, std::size_t bytes) = 0;

  /// Of the next kernel that is launched here: for devices that do not run it, but count what it would take. On others
  /// this costs two stores.
  void expect(const kernel_cost& c) { expected_ = c; }
  /// Whether this is a stream of such a device: then a kernel goes to `launched`, which takes ownership of `body`, what
  /// the host would run in its place (null: it cannot), and not to the device's driver.
  virtual bool is_simulated() const { return false; }
  virtual void launched(const char* name, const launch_shape& shape, stream_operation* body);

  /// The point after all that is enqueued now.
  virtual event record() = 0;
  /// What is enqueued from now on runs after `e`, of whatever stream of the process. The host does not wait.
  virtual void wait(const event& e) = 0;
  /// What is enqueued here from now on runs after what is enqueued on `other` now.
  void after(stream& other) { wait(other.record()); }

  /// As `record`, of a point that streams of other devices will wait for: they learn of it sooner.
  virtual event record_for_others() { return record(); }
  /// The point after all that is enqueued now, for other processes of the machine (`device::open`); false where
  /// processes cannot share such.
  virtual bool record_shared(shared_point& p) {
    static_cast<void>(p);
    return false;
  }
  /// Copies what another device that this one reaches has at `from` after `ready`: `wait` and `copy`, sooner where a
  /// GPU can do both in one.
  virtual void pull(const event& ready, void* to, const void* from, std::size_t bytes) {
    wait(ready);
    copy(to, from, bytes);
  }

  /// Whether everything enqueued has finished.
  virtual bool idle() const = 0;
  /// Whether something may be left in it that writes to memory: false only where that is known to be not so.
  virtual bool may_still_write() const { return true; }

  /// \name An idle stream goes to another PE of the process with the chare whose it is: of itself, if that made it
  ///@{
  /// It is of no chare, or of one that takes it along itself.
  void follows_nobody() { follower_.unlink(); }
  /// The stream that follows its chare as `f`; null: `f` is something else.
  static stream* that_follows(const actor_follower& f) { return f.arrive != nullptr ? &of(f) : nullptr; }
  /// It is no stream of this PE any more.
  virtual void leave() {}
  /// It is one of the calling PE, and of `here`, that PE's device of the same kind.
  virtual void arrive(device& here) = 0;
  ///@}

  /// \name Graphs: of GPUs only; the host device throws `usage_error`.
  ///@{
  /// Runs `enqueue`, which puts operations into this stream and into others that wait for events of it and that it
  /// waits for in the end, and keeps those operations instead of doing them. Nothing in it may be awaited.
  virtual std::unique_ptr<graph> capture(const std::function<void()>& enqueue);
  /// The same into an existing graph, none of whose runs is under way; true when only arguments had changed, which is
  /// cheaper.
  virtual bool recapture(graph& g, const std::function<void()>& enqueue);
  /// Enqueues all of the graph's operations as one.
  virtual void run(graph& g);
  ///@}

  /// \name Rounds that are recorded (`repeat`): by streams of GPUs only
  ///@{
  virtual bool can_record() const { return false; }
  /// How often it was asked to call a function of the host or to resume a coroutine, as no round that is recorded may.
  virtual std::uint64_t num_functions() const { return 0; }
  /// From now on operations are kept in `into` instead of being done: they come after what was enqueued before. Nothing
  /// can be awaited, and no function of the host enqueued, until `stop_recording`.
  virtual void record_rounds(const std::shared_ptr<recorded_rounds>& into) { static_cast<void>(into); }
  virtual void end_round() {}
  /// Nothing is to be enqueued until what was recorded has been done (`recorded_rounds::end`).
  virtual void stop_recording() {}
  ///@}

  /// `co_await s.done()`: until everything enqueued so far has finished; the PE does other things meanwhile. May be
  /// given to `when_all` and `when_any`.
  class done_awaiter;
  struct [[nodiscard]] done_wait {
    stream* of;
    done_awaiter operator co_await() const;
  };
  [[nodiscard]] done_wait done() { return {this}; }

 protected:
  /// Of the chare whose code runs, if any.
  explicit stream(std::string label);
  /// What was said of the next kernel, once.
  kernel_cost take_expected() { return std::exchange(expected_, {}); }
  /// Takes ownership of `op`.
  virtual void enqueue(stream_operation* op) = 0;
  /// Runs a function of the program's, which nobody is there to catch from: what it throws ends the job, on `pe`.
  void perform(executor& pe, stream_operation* op);

 private:
  struct follower : actor_follower {
    stream* self = nullptr;
  };
  static stream& of(const actor_follower& f) { return *static_cast<const follower&>(f).self; }

  const std::string label_;
  follower follower_;
  kernel_cost expected_;
};

inline std::unique_ptr<graph> stream::capture(const std::function<void()>&) {
  throw usage_error(label_ + ": the host device has no graphs; enqueue the operations themselves");
}
inline bool stream::recapture(graph&, const std::function<void()>&) { return capture({}) != nullptr; }
inline void stream::run(graph&) { static_cast<void>(capture({})); }

/// The awaiter of `stream::done`. Resumed through the queue of the PE that waits.
class [[nodiscard]] stream::done_awaiter {
 public:
  explicit done_awaiter(stream& s) : stream_(s) {}
  done_awaiter(const done_awaiter&) = delete;
  ~done_awaiter() {
    if (mark_ != nullptr) mark_->reached = nullptr;  // the stream has not come there yet
  }
  bool await_ready() const { return stream_.idle(); }
  bool await_suspend(std::coroutine_handle<> h) {
    mark_ = new (slab::allocate(sizeof(mark))) mark(this);
    stream_.enqueue(mark_);
    return waits_.await_suspend(h);
  }
  void await_resume() { waits_.await_resume(); }

 private:
  struct mark final : stream_operation {
    explicit mark(done_awaiter* a) : reached(a) {
      name = "done";
      act = [](stream_operation* o, work_action action) {
        auto* self = static_cast<mark*>(o);
        if (self->reached != nullptr) {
          self->reached->mark_ = nullptr;
          if (action == work_action::run) self->reached->done_.set();
        }
        self->~mark();
        slab::free(self);
      };
    }
    done_awaiter* reached;
  };

  stream& stream_;
  completion done_;
  completion::awaiter waits_{done_, [](const waiter*) { return std::string("a stream to finish"); }};
  mark* mark_ = nullptr;
};

inline stream::done_awaiter stream::done_wait::operator co_await() const { return done_awaiter(*of); }

}  // namespace imbrex
