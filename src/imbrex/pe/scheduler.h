#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/async/progress_source.h"
#include "imbrex/async/sleepers.h"
#include "imbrex/base/ids.h"
#include "imbrex/base/look_interval.h"
#include "imbrex/base/memory/slab.h"
#include "imbrex/base/type_name.h"
#include "imbrex/comm/data/data_mover.h"
#include "imbrex/comm/data/exposure_table.h"
#include "imbrex/comm/job_end.h"
#include "imbrex/comm/transport.h"
#include "imbrex/hetero/hetero_options.h"
#include "imbrex/hetero/tasks/task_stealing.h"
#include "imbrex/pe/active_message.h"
#include "imbrex/pe/future_table.h"
#include "imbrex/pe/idle_counts.h"
#include "imbrex/pe/idle_policy.h"
#include "imbrex/pe/leaving_body.h"
#include "imbrex/pe/message_bundles.h"
#include "imbrex/pe/pe_tree.h"
#include "imbrex/pe/remote/arrival_order.h"
#include "imbrex/pe/reply.h"
#include "imbrex/pe/shared_work.h"
#include "imbrex/trace/trace.h"

namespace imbrex {

class device;
class quiescence_detector;
class runtime;

/// What the PEs of one rank share. Made by the runtime layer; read-only while the PEs run, except the atomics.
struct rank_context {
  rank_id rank = 0;
  int num_ranks = 1;
  int pes_per_rank = 1;
  std::vector<int> gpu_of_pe;                 ///< of this rank's PEs, by place among its GPUs; empty without GPUs
  class transport* transport = nullptr;       ///< null: one rank only
  std::vector<scheduler*> pes;                ///< of this rank
  runtime* facade = nullptr;                  ///< what `chare::rt()` gives
  std::int64_t spin_ns = 20'000;              ///< how long an idle PE spins before it sleeps
  const time_source* time = &machine_time();  ///< of all PEs
  bool check_races = false;                   ///< look for memory that is written while it is lent
  exposure_table exposures;                   ///< memory of this rank that others put to and get from
  hetero_options tasks;                       ///< of each PE's objects and tasks
  std::unique_ptr<sleepers> asleep;           ///< PEs that have nothing to do; null: one PE only
  std::unique_ptr<task_stealing> helpers;  ///< PEs that run each other's tasks; null: one PE only, or it is not wanted

  end_decision end;  ///< who decides for a failure writes the rank's one report of it

  int num_pes() const { return num_ranks * pes_per_rank; }
  pe_id first_pe() const { return rank * pes_per_rank; }
  bool is_local(pe_id pe) const {
    return static_cast<std::uint32_t>(pe - first_pe()) < static_cast<std::uint32_t>(pes_per_rank);
  }
};

/// What a layer above keeps on a PE. Ends with the PE's other objects.
class pe_part {
 public:
  pe_part() = default;
  pe_part(const pe_part&) = delete;
  pe_part& operator=(const pe_part&) = delete;
  virtual ~pe_part() = default;
  /// Lines for the report of what waits for what.
  virtual void add_waits(const std::function<void(std::string)>& add) const { static_cast<void>(add); }
};

/// One that has something to keep in checkpoints.
class kept_pe_part : public pe_part {
 public:
  virtual std::vector<std::byte> to_keep() = 0;
  /// Goes on with what was kept, perhaps by a job of another shape.
  virtual void take_kept(std::span<const std::byte> kept) = 0;
};

/// What has ended and is seen to when the PE is back in its loop, and so on nobody's stack.
struct ended_activity {
  ended_activity* next_ended = nullptr;
  void (*see_to)(scheduler& pe, ended_activity& a) = nullptr;
};

/// What a step of a PE came to.
enum class pe_step {
  work,     ///< a piece of work was run: a message, a coroutine that goes on, an operation of the host device
  helped,   ///< a task of another PE was run, or seeds of one were taken
  network,  ///< something came from the network, or left
  devices,  ///< something on a device had ended, and there is work now
  nothing,  ///< there is nothing to do
};

/// One PE: the loop that makes the transport progress, dispatches messages and resumes coroutines. Knows messages and
/// who else is there; what they are about is known by those derived from it. All members are for the PE's own thread
/// unless said otherwise.
class scheduler : public executor {
 public:
  scheduler(rank_context& rank, pe_id id, trace_track* track);
  virtual ~scheduler();

  /// The PE whose thread this is. Undefined on other threads.
  static scheduler& current() { return static_cast<scheduler&>(*executor::current()); }
  /// The same, or null on a thread that is no PE.
  static scheduler* current_or_null() { return static_cast<scheduler*>(executor::current()); }
  /// The same for what a program calls: throws `usage_error` on a thread that is no PE.
  static scheduler& of_caller() {
    executor* const e = executor::current();
    if (e == nullptr) [[unlikely]]
      throw_no_pe();
    return static_cast<scheduler&>(*e);
  }

  pe_id id() const { return id_; }
  int num_pes() const { return num_pes_; }
  /// The PE that does what `pe` did, which a job that was restarted with fewer PEs does not have; else `pe` itself.
  pe_id standing_for(pe_id pe) const { return pe < num_pes_ ? pe : pe % num_pes_; }
  rank_context& rank() const { return rank_; }

  /// Makes the calling thread this PE's: binds its memory.
  void bind_to_this_thread();
  /// Runs until `stop`: steps, and waits as its idle policy says when there is nothing to do. On the PE's thread.
  void run();
  /// Does one piece of work, or else looks once at what is not posted by itself. Never waits. Whoever drives several
  /// PEs from one thread makes this PE the thread's before (`pe_stepper`).
  pe_step step();
  /// How it waits from now on; without this, `spin_then_sleep`.
  void wait_by(std::unique_ptr<idle_policy> how) { idle_ = std::move(how); }
  /// The loop ends after the piece of work that runs now.
  void stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }

  /// \name For idle policies and those who step
  ///@{
  /// Whether the next step finds work, or the loop ends.
  bool has_something() const { return !inbox_empty() || has_ready() || stopping_; }
  /// Looks once at other PEs' tasks, the network and devices.
  pe_step look();
  /// Whether the network has to be looked at: else what it brings is posted.
  bool polls_network() const { return polls_network_; }
  bool devices_are_busy() const { return devices != nullptr && devices->pending(); }
  /// Runs a task of another PE, or takes over work that it has not begun; false when there is none.
  bool help();
  /// Nothing has been to do since `began`: what is done only then. May post work.
  void is_idle_since(std::int64_t began, std::int64_t now);
  /// When `is_idle_since` has something to do next; INT64_MAX: never.
  std::int64_t next_idle_look() const { return idle_interval_ns_ != 0 ? next_idle_look_ : INT64_MAX; }
  /// What it has counted can be read from now on, until it withdraws that: before it does anything.
  void publish_counts();
  void withdraw_counts() {
    if (idle_counts_.published()) idle_counts_.withdraw();
  }
  /// Sleeps until something is posted, another PE has a task to spare, or `next_idle_look` has come.
  void sleep_until_called(std::int64_t now);
  ///@}

  /// \name The end of a job, phase by phase; all PEs of the rank finish one before the next begins.
  ///@{
  void discard_queued();
  void destroy_objects();
  void destroy_collections();
  void destroy_tasks();
  void unbind_from_this_thread();
  ///@}

  /// Sends `body` to PE `to`. A PE of this process gets the object itself, moved; another rank gets it serialised.
  template <class H>
  void send(pe_id to, H&& body, priority p = priorities::normal);
  /// The same to this PE, the body made in place from `a`.
  template <class H, class... A>
  void send_here(priority p, A&&... a) {
    if constexpr (is_counted<H>()) ++created_;
    auto* m = active_message<H>::make(p, std::forward<A>(a)...);
    if (track != nullptr) [[unlikely]]
      m->flow = trace_send(0, id_);
    post_here(m);
  }
  /// Sends `body`, which names its `root` (this PE), to all PEs including this one along a spanning tree; its
  /// operator() must begin with `pe.relay(*this)`.
  template <class H>
  void spread(H body, priority p = priorities::normal);
  /// Throws the `usage_error` of a proxy that names no PE.
  [[noreturn]] static void refuse_pe(pe_id to);
  /// Passes a spread body on to the PEs below this one in the tree.
  template <class H>
  void relay(const H& body, priority p = priorities::normal);

  /// Of all PEs.
  const pe_tree& tree() const { return tree_; }
  /// The PE above this one in the spanning tree rooted at `root`; `no_pe` for the root itself.
  pe_id tree_parent(pe_id root) const { return tree_.parent_of(id_, root); }

  /// Replies to `call` that this PE waits for.
  reply_table replies;
  detail::future_table futures;

  /// Counts an operation that will end without a message (a wait on a device, a timer): quiescence waits for it.
  void begin_operation() { ++operations; }
  void end_operation() { --operations; }

  /// An exception left `who`, such as "halo of block(1, 2)": reports it and ends the job with exit code 70.
  void fail_entry(std::string_view who, std::exception_ptr failure) noexcept;
  /// The same of the main chare, which speaks for the program: a wrong option that it finds is the user's, not a crash.
  void fail_main(std::exception_ptr failure) noexcept;
  /// An exception left a body of the runtime itself, e.g. because it was asked for something impossible: the same.
  void fail_body(std::string_view who, std::exception_ptr failure) noexcept;
  /// Something for `what` that PE `from` has sent cannot be read.
  void fail_reading(const char* what, pe_id from, std::exception_ptr failure) noexcept;
  /// Ends the job on all ranks with `report` on standard error, unless it ends by a failure already.
  void fail_job(const std::string& report, int exit_code) noexcept;
  /// Ends the job on all ranks now. The first of several exits counts; a failure takes the place of any.
  void exit_job(int exit_code, bool failed) noexcept;

  /// `a` is seen to once the PE is back in its loop.
  void ended(ended_activity& a) {
    a.next_ended = ended_;
    ended_ = &a;
  }

  quiescence_detector& quiescence() { return *quiescence_; }

  using counts = pe_counts;
  counts message_counts() const;
  /// While this PE is idle, for a while at least, and no device or network could change them: any thread reads them.
  const idle_counts& counts_while_idle() const { return idle_counts_; }
  /// What failed on this PE that nobody has seen, at most `limit` lines.
  std::vector<std::string> describe_failures(std::size_t limit) const;
  /// Lines that say what waits for what on this PE, at most `limit`.
  std::vector<std::string> describe_waits(std::size_t limit) const;

  /// PE 0: how often the quiescence detector looks while the PE has nothing to do.
  /// Not before `first_look_ns`.
  void set_idle_interval(std::int64_t ns, std::int64_t first_look_ns = 0) {
    idle_interval_ns_ = ns;
    next_idle_look_ = first_look_ns;
  }

  /// The function of every message that a transport delivers; and once its turn has come.
  static void receive(work* w, work_action action);
  static void receive_in_turn(work* w, work_action action);
  /// Reads a message whose large arguments travel beside it, and fetches those.
  void receive_parted(wire_message* m, std::unique_ptr<detail::arriving_body> body);
  /// Messages whose large arguments are on their way, and what waits for them.
  arrival_order& arrivals() { return arrivals_; }

  /// Messages that wait for something that cannot come any more are performed again and refused (see
  /// `quiescence_detector`).
  virtual void refuse_held() {}

  void count_created() { ++created_; }
  void count_processed() { ++processed_; }

  /// A number for a message arrow in the trace; the caller records the arrow's start.
  std::uint64_t trace_send(std::uint64_t bytes, pe_id to);

  device* default_device = nullptr;       ///< what `chare::on_device` gives
  device* host = nullptr;                 ///< this PE's host device
  std::unique_ptr<data_mover> mover;      ///< null: one rank only
  std::vector<device*> gpus;              ///< this PE's handles of all GPUs of the rank
  std::unique_ptr<hetero_domain> hetero;  ///< once somebody has made an object or a task here
  std::unique_ptr<pe_part> objects;       ///< `object_desk`, once an object has been sent or exposed
  std::unique_ptr<shared_work> shared;    ///< what others may take: `seed_pool`; null: nothing

 protected:
  /// \name For those derived: their part in what is asked of all that a PE holds
  ///@{
  virtual void add_counts(pe_counts&) const {}
  virtual void add_waits(const std::function<void(std::string)>& add) const { static_cast<void>(add); }
  virtual void discard_waiting() {}
  virtual void destroy_chares() {}
  virtual void destroy_parts() {}
  ///@}

 private:
  void tell_failure(const job_end& end) noexcept;
  [[noreturn]] void leave_devices();
  void tell_failures();
  bool poll_network();
  void poll_devices();
  pe_step step_inline();
  void reap();
  /// Sends a body of kind `k` serialised; moves from it when arrays stay out.
  void send_to_rank(const detail::leaving_kind& k, pe_id to, void* body, priority p);
  void send_parted(const detail::leaving_kind& k, pe_id to, void* body, priority p);
  [[noreturn, gnu::cold, gnu::noinline]] static void throw_no_pe();
  using owned_message = std::unique_ptr<wire_message, void (*)(wire_message*)>;
  owned_message wire_message_to(pe_id to, const handler_info& receiver, std::uint64_t bytes, priority p) const;
  void hand_over(const detail::leaving_kind& k, owned_message m, std::uint64_t bytes);
  bool bundled(const detail::leaving_kind& k, pe_id to, void* body, priority p);

  rank_context& rank_;
  const pe_id id_;
  const int num_pes_;
  const pe_tree tree_;
  class transport* const transport_;
  message_bundles bundles_;
  arrival_order arrivals_{*this};
  bool polls_network_ = false;
  // Some ten microseconds apart, and at least every 16 pieces of work: others may wait for an answer.
  look_interval network_interval_{30'000, 16};
  progress_source* failed_devices_ = nullptr;
  bool stopping_ = false;

  std::uint64_t created_ = 0;
  std::uint64_t processed_ = 0;

  slab slab_;
  ended_activity* ended_ = nullptr;

  std::unique_ptr<quiescence_detector> quiescence_;
  std::int64_t idle_interval_ns_ = 0;  // 0: never
  std::int64_t next_idle_look_ = 0;
  std::int64_t noticed_in_ = 0;  // the idle spell, by its begin, in which devices were last made to tell of their ends
  idle_counts idle_counts_;
  std::unique_ptr<idle_policy> idle_;
};

// ---------------------------------------------------------------------------------------------------------------

/// Calls `perform(pe, body, 0)` as a slice of the trace, to which arrow `flow` leads.
void perform_traced(scheduler& pe, const char* name, trace_category c, std::uint64_t flow,
                    void (*perform)(scheduler&, void*, std::uint64_t), void* body);

/// `flow`: the arrow in the trace that it came with; 0: nothing is recorded. There is one copy of it, into which all of
/// a message's way is inlined.
template <class H>
[[gnu::noinline]] void perform_body(scheduler& pe, H& body, std::uint64_t flow) {
  if (flow != 0) [[unlikely]] {
    constexpr auto again = [](scheduler& p, void* b, std::uint64_t none) {
      perform_body(p, *static_cast<H*>(b), none);
    };
    if constexpr (requires { body.name(pe); }) {
      perform_traced(pe, body.name(pe), trace_category::entry, flow, again, &body);
    } else if constexpr (requires { body.name_of_work(pe); }) {
      perform_traced(pe, body.name_of_work(pe), trace_category::runtime, flow, again, &body);
    } else {
      perform_traced(pe, detail::type_name<H>(), trace_category::runtime, flow, again, &body);
    }
    return;
  }
  if constexpr (is_counted<H>()) pe.count_processed();
  body(pe);
}

namespace detail {
template <class H>
[[gnu::cold, gnu::noinline]] void fail_body_of(scheduler& pe, const H& body, std::exception_ptr failure) {
  if constexpr (requires { body.fails(pe, failure); }) {
    body.fails(pe, std::move(failure));
  } else if constexpr (requires { body.in_report(pe); }) {
    pe.fail_body(body.in_report(pe), std::move(failure));
  } else {
    pe.fail_body(type_name<H>(), std::move(failure));
  }
}
}  // namespace detail

/// The same on the PE whose thread this is; an exception ends the job.
template <class H>
void perform_body_here(H& body, std::uint64_t flow) {
  scheduler& pe = scheduler::current();
  try {
    perform_body(pe, body, flow);
  } catch (...) {
    detail::fail_body_of(pe, body, std::current_exception());
  }
}

template <class H>
void active_message<H>::perform(work* w, work_action action) {
  auto* m = static_cast<active_message*>(w);
  if (action == work_action::run) [[likely]]
    perform_body_here(m->body, m->flow);
  destroy(m);
}

namespace detail {

template <class B>
[[gnu::noinline]] void read_body(B& body, input_archive& in) {
  body.serialize(in);
}

/// Of a message from PE `from`; false: it cannot be read, which ends the job.
template <class B>
[[gnu::noinline]] bool read_whole(scheduler& pe, B& body, input_archive& in, pe_id from) {
  try {
    body.serialize(in);
    if (in.bytes_left() != 0) throw_left_over(type_name<B>(), in.bytes_left());
    return true;
  } catch (...) {
    const char* what = type_name<B>();
    if constexpr (requires { B::when_read(); }) what = B::when_read();
    pe.fail_reading(what, from, std::current_exception());
    return false;
  }
}

template <class B>
class arriving final : public arriving_body {
 public:
  using arriving_body::arriving_body;

 private:
  const char* body_type() const override { return type_name<B>(); }
  void read(input_archive& in) override { read_body(body_, in); }
  void run(std::uint64_t flow) override { perform_body_here(body_, flow); }

  B body_{};
};

}  // namespace detail

template <class H>
void handler<H>::receive(scheduler& pe, wire_message* m) {
  if constexpr (is_partable<H>()) {
    if (m->header.is_parted != 0) [[unlikely]]
      return pe.receive_parted(m, std::make_unique<detail::arriving<H>>(pe.arrivals(), m->header));
  }
  H body{};
  const std::uint64_t flow = m->header.flow;
  {
    const std::unique_ptr<wire_message, void (*)(wire_message*)> owned(m, &wire_message::destroy);
    input_archive in(m->payload(), m->header.size);
    if (!detail::read_whole(pe, body, in, m->header.from)) return;
  }
  perform_body_here(body, flow);
}

template <class H>
void scheduler::send(pe_id to, H&& body, priority p) {
  using B = std::remove_cvref_t<H>;
  scheduler* other = this;
  if (to != id_) {
    if (!rank_.is_local(to)) [[unlikely]] {
      if constexpr (std::is_lvalue_reference_v<H>) {
        B copy(body);
        return send_to_rank(detail::leaving<B>, to, &copy, p);
      } else {
        return send_to_rank(detail::leaving<B>, to, &body, p);
      }
    }
    other = rank_.pes[static_cast<std::size_t>(to - rank_.first_pe())];
    other->prepare_post();
  }
  auto* m = active_message<B>::make(p, std::forward<H>(body));
  if constexpr (is_counted<B>()) ++created_;
  if (track != nullptr) [[unlikely]]
    m->flow = trace_send(0, to);
  other == this ? post_here(m) : other->post(m);
}

template <class H>
void scheduler::spread(H body, priority p) {
  body.root = id_;
  send(id_, std::move(body), p);
}

template <class H>
void scheduler::relay(const H& body, priority p) {
  thread_local std::vector<pe_id> children;
  tree_.children_of(id_, body.root, children);
  for (std::size_t i = 0; i < children.size(); ++i) send(children[i], H(body), p);
}

}  // namespace imbrex
