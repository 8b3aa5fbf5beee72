#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/base/ids.h"
#include "imbrex/base/slab.h"
#include "imbrex/base/type_name.h"
#include "imbrex/comm/data/data_mover.h"
#include "imbrex/comm/data/exposure_table.h"
#include "imbrex/comm/job_end.h"
#include "imbrex/comm/transport.h"
#include "imbrex/hetero/hetero_options.h"
#include "imbrex/hetero/tasks/task_stealing.h"
#include "imbrex/object/active_message.h"
#include "imbrex/object/arrival_order.h"
#include "imbrex/object/future_table.h"
#include "imbrex/object/idle_counts.h"
#include "imbrex/object/message_bundles.h"
#include "imbrex/object/parted_message.h"
#include "imbrex/object/reducer.h"
#include "imbrex/object/reply.h"
#include "imbrex/trace/trace.h"

namespace imbrex {

class collection;
class device;
class quiescence_detector;
class runtime;
struct element_base;
struct entry_activity;
namespace detail {
class object_desk;
}

/// The name under which the main chare's coroutine runs.
inline constexpr char main_chare_name[] = "the main chare";

/// What the PEs of one rank share. Made by the runtime layer; read-only while the PEs run, except the atomics.
struct rank_context {
  rank_id rank = 0;
  int num_ranks = 1;
  int pes_per_rank = 1;
  std::vector<int> gpu_of_pe;              ///< of this rank's PEs, by place among its GPUs; empty without GPUs
  class transport* transport = nullptr;    ///< null: one rank only
  std::vector<scheduler*> pes;             ///< of this rank
  runtime* facade = nullptr;               ///< what `chare::rt()` gives
  std::int64_t spin_ns = 20'000;           ///< how long an idle PE spins before it sleeps
  bool check_races = false;                ///< look for memory that is written while it is lent
  exposure_table exposures;                ///< memory of this rank that others put to and get from
  hetero_options tasks;                    ///< of each PE's objects and tasks
  std::unique_ptr<task_stealing> helpers;  ///< PEs that run each other's tasks; null: one PE only, or it is not wanted

  end_decision end;  ///< who decides for a failure writes the rank's one report of it

  int num_pes() const { return num_ranks * pes_per_rank; }
  pe_id first_pe() const { return rank * pes_per_rank; }
  bool is_local(pe_id pe) const {
    return static_cast<std::uint32_t>(pe - first_pe()) < static_cast<std::uint32_t>(pes_per_rank);
  }
};

/// One PE: the loop that makes the transport progress, dispatches messages and resumes coroutines, and the PE's
/// part of every collection. All members are for the PE's own thread unless said otherwise.
class scheduler : public executor {
 public:
  scheduler(rank_context& rank, pe_id id, trace_track* track);
  ~scheduler();

  /// The PE whose thread this is. Undefined on other threads.
  static scheduler& current() { return static_cast<scheduler&>(*executor::current()); }
  /// The same, or null on a thread that is no PE.
  static scheduler* current_or_null() { return static_cast<scheduler*>(executor::current()); }

  pe_id id() const { return id_; }
  int num_pes() const { return num_pes_; }
  rank_context& rank() const { return rank_; }

  /// Makes the calling thread this PE's: binds its memory.
  void bind_to_this_thread();
  /// Runs until `stop`. On the PE's thread.
  void run();
  /// The loop ends after the piece of work that runs now.
  void stop() { stopping_ = true; }
  bool stopping() const { return stopping_; }

  /// \name The end of a job, phase by phase; all PEs of the rank finish one before the next begins.
  ///@{
  void discard_queued();
  void destroy_objects();
  void destroy_collections();
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
  /// Passes a spread body on to the PEs below this one in the tree.
  template <class H>
  void relay(const H& body, priority p = priorities::normal);

  /// The PE above this one in the spanning tree rooted at `root`; `no_pe` for the root itself.
  pe_id tree_parent(pe_id root) const { return tree_parent_of(id_, root); }
  pe_id tree_parent_of(pe_id pe, pe_id root) const;
  /// The PEs below `pe` in that tree.
  void tree_children_of(pe_id pe, pe_id root, std::vector<pe_id>& children) const;

  /// \name Collections
  ///@{
  collection_id new_collection_id() { return {id_, next_collection_++}; }
  section_id new_section_id() { return {id_, next_section_++}; }
  /// The PE of the next singleton that this PE makes without naming one: all in turn, from this one on.
  pe_id next_seed_pe() {
    const pe_id pe = id_ + next_seed_ < num_pes_ ? id_ + next_seed_ : id_ + next_seed_ - num_pes_;
    if (++next_seed_ == num_pes_) next_seed_ = 0;
    return pe;
  }
  void add_collection(std::unique_ptr<collection> c);
  /// This PE's part of a collection, or null when the message that creates it has not arrived yet.
  [[gnu::always_inline]] collection* find_collection(collection_id c) {
    if (c == last_found_id_) [[likely]]
      return last_found_;
    return look_up_collection(c);
  }
  /// Throws the `usage_error` of a proxy that names no collection.
  [[noreturn]] static void refuse_unknown(collection_id c);
  /// Made with its first use.
  collection* look_up_singles(collection_id c);
  [[gnu::noinline]] collection* look_up_collection(collection_id c) {
    if (c.is_of_singles()) return look_up_singles(c);
    if (static_cast<std::size_t>(c.creator) >= collections_.size()) [[unlikely]]
      refuse_unknown(c);
    const auto& of_creator = collections_[static_cast<std::size_t>(c.creator)];
    collection* found = c.number < of_creator.size() ? of_creator[c.number].get() : nullptr;
    if (found != nullptr) {
      last_found_id_ = c;
      last_found_ = found;
    }
    return found;
  }
  /// Keeps a body until collection `c` exists here, then performs it.
  template <class H>
  void hold_for_collection(collection_id c, H&& body);
  ///@}

  /// The number of a broadcast to array `c` that begins here now; known here or not yet.
  std::uint32_t number_broadcast(collection_id c, priority p);

  /// Performs what waited for collection `c`, which is complete now.
  void release_held(collection_id c);

  /// The element that is being constructed; taken by `chare_base`.
  element_base* constructing = nullptr;

  /// Replies to `call` that this PE waits for.
  reply_table replies;
  detail::future_table futures;

  /// Counts an operation that will end without a message (a wait on a device, a timer): quiescence waits for it.
  void begin_operation() { ++operations; }
  void end_operation() { --operations; }

  /// An exception left `method` of `e` (null: the runtime itself): reports it and ends the job with exit code 70.
  void fail_entry(const element_base* e, const char* method, std::exception_ptr failure) noexcept;
  /// An exception left a body of the runtime itself, e.g. because it was asked for something impossible: the same.
  void fail_body(const char* type, std::exception_ptr failure) noexcept;
  /// Ends the job on all ranks with `report` on standard error, unless it ends by a failure already.
  void fail_job(const std::string& report, int exit_code) noexcept;
  /// Ends the job on all ranks now. The first of several exits counts; a failure takes the place of any.
  void exit_job(int exit_code, bool failed) noexcept;

  /// A coroutine chain has ended; its frame is destroyed once the PE is back in its loop.
  void ended(entry_activity* a);

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
  /// Messages whose large arguments are on their way, and what waits for them.
  arrival_order& arrivals() { return arrivals_; }

  /// Whether messages that wait for something that cannot come any more are refused now (see `quiescence_detector`).
  bool refuses_held() const { return refuses_held_; }
  void count_refused() { ++refused_messages_; }
  /// Performs all messages that are held for elements once more, refusing what can be.
  void refuse_held();

  void count_created() { ++created_; }
  void count_processed() { ++processed_; }
  void count_held(int difference) { held_messages_ += static_cast<std::uint64_t>(difference); }

  /// A number for a message arrow in the trace; the caller records the arrow's start.
  std::uint64_t trace_send(std::uint64_t bytes, pe_id to);

  entry_activity* first_activity = nullptr;      ///< those of no chare that exist on this PE
  std::uint64_t num_activities = 0;              ///< all on this PE
  device* default_device = nullptr;              ///< what `chare::on_device` gives
  device* host = nullptr;                        ///< this PE's host device
  std::unique_ptr<data_mover> mover;             ///< null: one rank only
  std::vector<device*> gpus;                     ///< this PE's handles of all GPUs of the rank
  std::unique_ptr<hetero_domain> hetero;         ///< once somebody has made an object or a task here
  std::unique_ptr<detail::object_desk> objects;  ///< once an object has been sent or exposed

 private:
  void tell_end(const job_end& end) noexcept;
  [[noreturn]] void leave_devices();
  void tell_failures();
  bool poll_network();
  void poll_devices();
  bool comes_at_once();
  void idle();
  bool help();
  void publish_counts();
  void withdraw_counts() {
    if (idle_counts_.published()) idle_counts_.withdraw();
  }
  void reap();
  template <class H>
  void send_to_rank(pe_id to, H&& body, priority p);
  template <class H>
  void send_parted(pe_id to, H&& body, priority p);
  void hand_over(wire_message* m, std::uint64_t bytes);
  template <class H>
  bool bundled(pe_id to, H& body, priority p);

  rank_context& rank_;
  const pe_id id_;
  const int num_pes_;
  class transport* const transport_;
  message_bundles bundles_;
  arrival_order arrivals_{*this};
  bool polls_network_ = false;
  progress_source* failed_devices_ = nullptr;
  bool stopping_ = false;
  bool refuses_held_ = false;

  std::uint64_t created_ = 0;
  std::uint64_t processed_ = 0;
  std::uint64_t held_messages_ = 0;
  std::uint64_t refused_messages_ = 0;

  slab slab_;
  template <class F>
  void for_each_collection(F f) const;

  std::vector<std::vector<std::unique_ptr<collection>>> collections_;  // [creator][number]
  std::vector<std::unique_ptr<collection>> singles_;                   // [class]
  static constexpr collection_id nothing_found{no_pe - 1, 0};          // other than that of an empty proxy
  collection_id last_found_id_ = nothing_found;
  collection* last_found_ = nullptr;
  std::uint32_t next_collection_ = 0;
  std::uint32_t next_section_ = 0;
  pe_id next_seed_ = 0;
  struct held {
    collection_id id;
    work* message;
  };
  std::vector<held> held_;
  struct early_broadcasts {
    collection_id array;
    std::uint32_t begun[priority::num_levels] = {};
  };
  std::vector<early_broadcasts> early_broadcasts_;  // begun here before the array was known here
  entry_activity* ended_ = nullptr;

  std::unique_ptr<quiescence_detector> quiescence_;
  std::int64_t idle_interval_ns_ = 0;  // 0: never
  std::int64_t next_idle_look_ = 0;
  idle_counts idle_counts_;
  std::uint64_t last_idle_ = 0;  // cycle_count()
  std::uint64_t collected_before_ = 0;
  int num_floods_ = 0;
};

// ---------------------------------------------------------------------------------------------------------------

/// What a message does, as a slice of the trace.
class traced_message {
 public:
  traced_message() = default;
  traced_message(const traced_message&) = delete;
  ~traced_message() {
    if (track_ != nullptr) [[unlikely]]
      end();
  }
  void begin(scheduler& pe, const char* name, trace_category c, std::uint64_t flow);

 private:
  void end();
  trace_track* track_ = nullptr;
};

/// `flow`: the arrow in the trace that it came with; 0: nothing is recorded.
template <class H>
void perform_body(scheduler& pe, H& body, std::uint64_t flow) {
  if constexpr (is_counted<H>()) pe.count_processed();
  traced_message slice;
  if (flow != 0) [[unlikely]] {
    if constexpr (requires { body.name(); }) {
      slice.begin(pe, body.name(), trace_category::entry, flow);
    } else {
      slice.begin(pe, detail::type_name<H>(), trace_category::runtime, flow);
    }
  }
  body(pe);
}

/// The same on the PE whose thread this is; an exception ends the job.
template <class H>
void perform_body_here(H& body, std::uint64_t flow) {
  scheduler& pe = scheduler::current();
  try {
    perform_body(pe, body, flow);
  } catch (...) {
    pe.fail_body(detail::type_name<H>(), std::current_exception());
  }
}

template <class H>
void active_message<H>::perform(work* w, work_action action) {
  auto* m = static_cast<active_message*>(w);
  if (action == work_action::run) [[likely]]
    perform_body_here(m->body, m->flow);
  destroy(m);
}

template <class H>
void handler<H>::receive(scheduler& pe, wire_message* m) {
  if constexpr (is_partable<H>()) {
    if (m->header.is_parted != 0) [[unlikely]] {
      const rank_id source = m->header.from / pe.rank().pes_per_rank;
      detail::arriving<H, &perform_body_here<H>>::start(pe, pe.arrivals(), *pe.rank().transport, source, m);
      return;
    }
  }
  H body{};
  const std::uint64_t flow = m->header.flow;
  {
    const std::unique_ptr<wire_message, void (*)(wire_message*)> owned(m, &wire_message::destroy);
    input_archive in(m->payload(), m->header.size);
    body.serialize(in);
    if (in.bytes_left() != 0) [[unlikely]]
      detail::throw_left_over(detail::type_name<H>(), in.bytes_left());
  }
  perform_body(pe, body, flow);
}

template <class H>
void scheduler::send(pe_id to, H&& body, priority p) {
  using B = std::remove_cvref_t<H>;
  scheduler* other = this;
  if (to != id_) {
    if (!rank_.is_local(to)) [[unlikely]]
      return send_to_rank(to, std::forward<H>(body), p);
    other = rank_.pes[static_cast<std::size_t>(to - rank_.first_pe())];
    other->prepare_post();
  }
  if constexpr (is_counted<B>()) ++created_;
  auto* m = active_message<B>::make(p, std::forward<H>(body));
  if (track != nullptr) [[unlikely]]
    m->flow = trace_send(0, to);
  other == this ? post_here(m) : other->post(m);
}

template <class H>
void scheduler::send_to_rank(pe_id to, H&& body, priority p) {
  using B = std::remove_cvref_t<H>;
  if (stopping_) [[unlikely]]
    return;  // a destructor's message, at the end of the job
  if (static_cast<std::uint32_t>(to) >= static_cast<std::uint32_t>(num_pes_)) [[unlikely]]
    refuse_unknown({to, 0});
  if constexpr (is_counted<B>()) ++created_;
  B& readable = const_cast<B&>(body);
  if constexpr (is_aggregated<B>()) {
    if (bundled(to, readable, p)) return;
  }
  if (bundles_.any()) [[unlikely]]
    bundles_.flush(to);
  sizing_archive size(is_partable<B>() ? mover->largest_inside() : any_size);
  readable.serialize(size);
  if constexpr (is_partable<B>()) {
    if (size.num_left_out() > 0) [[unlikely]]
      return send_parted(to, std::forward<H>(body), p);
  }
  wire_message* m = make_wire_message<B>(size.size(), to, id_, p);
  output_archive out(m->payload());
  readable.serialize(out);
  hand_over(m, m->header.size);
}

/// Sends a message whose large arrays travel beside it.
template <class H>
void scheduler::send_parted(pe_id to, H&& body, priority p) {
  using B = std::remove_cvref_t<H>;
  auto parts = std::make_unique<detail::departing<B>>(std::forward<H>(body));
  const std::uint64_t largest_inside = mover->largest_inside();
  sizing_archive size(largest_inside);
  parts->body.serialize(size);
  std::vector<large_block> blocks;
  wire_message* m = make_wire_message<B>(size.size(), to, id_, p);
  m->header.is_parted = 1;
  output_archive out(m->payload(), largest_inside, mover->take_ids(size.num_left_out(), true), blocks);
  parts->body.serialize(out);
  std::uint64_t bytes = m->header.size;
  for (const large_block& b : blocks) bytes += b.bytes;
  hand_over(m, bytes);
  const rank_id there = to / rank_.pes_per_rank;
  parts.release()->begin(*this, priorities::communication.value, blocks, [&](const large_block& b, transfer* done) {
    transport_->send_data(there, to, b.id, {b.data, b.bytes, memory_kind::host, -1}, done);
  });
}

/// Puts a small message to those that travel together; false when it is not small.
template <class H>
bool scheduler::bundled(pe_id to, H& body, priority p) {
  sizing_archive size;
  body.serialize(size);
  if (size.size() > message_bundles::most_bytes) return false;
  wire_header h;
  h.size = size.size();
  h.handler = handler<H>::info.number;
  h.to = to;
  h.from = id_;
  h.level = static_cast<std::int8_t>(p.value);
  if (track != nullptr) [[unlikely]]
    h.flow = trace_send(h.size, to);
  output_archive out(bundles_.add(h));
  body.serialize(out);
  return true;
}

template <class H>
void scheduler::spread(H body, priority p) {
  body.root = id_;
  send(id_, std::move(body), p);
}

template <class H>
void scheduler::relay(const H& body, priority p) {
  thread_local std::vector<pe_id> children;
  tree_children_of(id_, body.root, children);
  for (std::size_t i = 0; i < children.size(); ++i) send(children[i], H(body), p);
}

template <class H>
void scheduler::hold_for_collection(collection_id c, H&& body) {
  using B = std::remove_cvref_t<H>;
  if constexpr (is_counted<B>()) ++created_;  // performed, and counted, a second time
  priority p = priorities::communication;
  if constexpr (requires { body.level; }) p = priority(body.level);
  held_.push_back({c, active_message<B>::make(p, std::forward<H>(body))});
}

}  // namespace imbrex
