#include "imbrex/object/scheduler.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "imbrex/async/progress_source.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/log.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/object/callback.h"
#include "imbrex/object/collection.h"
#include "imbrex/object/entry_activity.h"
#include "imbrex/object/object_desk.h"
#include "imbrex/object/quiescence.h"
#include "imbrex/object/registered_types.h"
#include "imbrex/object/singles.h"

namespace imbrex {

namespace {
constexpr unsigned network_interval = 16;  // pieces of work between two looks at the network
constexpr int tree_arity = 4;
constexpr std::int64_t settle_ns = 50'000;  // without work, after which what GPUs still do is looked after
}  // namespace

std::vector<handler_info*>& handler_info::registry() {
  static std::vector<handler_info*> all;
  return all;
}

std::uint64_t handler_info::seal() {
  static const std::uint64_t digest = [] {
    const std::uint64_t handlers = detail::number_by_name(registry());
    return mix(handlers ^ mix(singles_class::seal() ^ mix(detail::callback_kind::seal())));
  }();
  return digest;
}

scheduler::scheduler(rank_context& rank, pe_id id, trace_track* t)
    : rank_(rank),
      id_(id),
      num_pes_(rank.num_pes()),
      transport_(rank.transport),
      bundles_(rank.transport, id, rank.pes_per_rank) {
  track = t;
  on_failure = [](executor& pe, const std::string& report) {
    static_cast<scheduler&>(pe).fail_job(report, exit_code_failed_entry);
  };
  open_tasks = [](executor& e) {
    auto& pe = static_cast<scheduler&>(e);
    pe.hetero = std::make_unique<hetero_domain>(pe, *pe.host, pe.gpus, pe.rank().tasks);
    pe.tasks = pe.hetero.get();
    if (task_stealing* const all = pe.rank().helpers.get(); all != nullptr)
      pe.hetero->share_host_tasks(*all, static_cast<std::size_t>(pe.id() - pe.rank().first_pe()));
  };
  polls_network_ = transport_ != nullptr && transport_->needs_polling();
  collections_.resize(static_cast<std::size_t>(num_pes_));
  quiescence_ = std::make_unique<quiescence_detector>(*this);
  if (id_ == 0) idle_interval_ns_ = 50'000'000;
}

scheduler::~scheduler() = default;

void scheduler::bind_to_this_thread() {
  executor::set_current(this);
  slab_.bind_to_this_thread();
}

// ------------------------------------------------------------------------------------------------ the loop

void scheduler::run() {
  unsigned since_network = 0;
  if (ended_ != nullptr) reap();  // the main chare never had to wait
  while (!stopping_) {
    collect();
    if (work* w = next()) [[likely]] {
      w->act(w, work_action::run);
      if (ended_ != nullptr) [[unlikely]]
        reap();
      if (devices != nullptr) poll_devices();
      if (polls_network_ && ++since_network >= network_interval) {
        since_network = 0;
        poll_network();
        if (bundles_.any()) [[unlikely]]
          bundles_.flush_old();
      }
    } else {
      idle();
    }
  }
}

void scheduler::poll_devices() {
  try {
    devices->poll();
  } catch (...) {
    progress_source* const failed = std::exchange(devices, nullptr);  // once is enough
    fail_body("the devices", std::current_exception());
    failed_devices_ = failed;
  }
}

bool scheduler::poll_network() {
  try {
    return transport_->poll();
  } catch (...) {
    fail_entry(nullptr, "the transport", std::current_exception());
    return false;
  }
}

/// Runs a task of another PE; false when there is none.
bool scheduler::help() {
  task_stealing* const all = rank_.helpers.get();
  const auto me = static_cast<std::size_t>(id_ - rank_.first_pe());
  if (all == nullptr || !all->any(me)) return false;
  withdraw_counts();
  return all->run_one(me);
}

// PE 0 looks itself. What devices and the network do at any moment changes the counts, or may.
void scheduler::publish_counts() {
  if (id_ != 0 && devices == nullptr && !polls_network_ && !idle_counts_.published())
    idle_counts_.publish(message_counts());
}

/// Whether something comes within half a microsecond. Without a look at the clock, which takes as long on some
/// machines. Each look at the inbox takes its line from those who send. So where small messages have come one after
/// another for a while, some more are let come first.
bool scheduler::comes_at_once() {
  constexpr std::uint64_t limit = 1500, apart = 200, pause = 800;  // cycles
  constexpr int for_a_while = 8;
  const std::uint64_t began = cycle_count();
  const bool is_flood = began - last_idle_ < apart * (num_collected() - collected_before_);
  num_floods_ = is_flood ? std::min(num_floods_ + 1, 2 * for_a_while) : num_floods_ / 2;
  last_idle_ = began;
  collected_before_ = num_collected();
  if (num_floods_ > for_a_while) {
    while (cycle_count() - began < pause) cpu_relax();
  }
  do {
    for (int i = 0; i < 16; ++i) {
      if (!inbox_empty()) return true;
    }
    if (stopping_ || help()) return true;
  } while (cycle_count() - began < limit);
  return false;
}

// Spin briefly: the next message is often a microsecond away, and waking a sleeping thread costs tens. Then sleep; a
// PE that must look at the network itself only naps.
void scheduler::idle() {
  if (bundles_.any()) bundles_.flush();
  if (help()) return;
  if (track != nullptr) track->idle_begin();
  if (!polls_network_ && devices == nullptr && comes_at_once()) {
    if (track != nullptr) track->idle_end();
    return;
  }
  const std::int64_t start = now_ns();
  std::int64_t now = start;
  bool eager = true;
  bool settled = false;
  unsigned rounds = 0;
  while (inbox_empty() && !has_ready() && !stopping_ && !help()) {
    // More may be coming at once, such as the next piece of a large array.
    if (polls_network_ && poll_network() && devices == nullptr) continue;
    if (devices != nullptr) {
      poll_devices();
      if (bundles_.any()) bundles_.flush();  // of a function that a stream has run
      if (has_ready()) break;
      if (!settled && now - start >= settle_ns && devices != nullptr) {
        settled = true;
        devices->settle();
      }
    }
    if (idle_interval_ns_ != 0 && now >= next_idle_look_) {
      next_idle_look_ = now + idle_interval_ns_;
      if (now - start >= std::min<std::int64_t>(idle_interval_ns_, rank_.spin_ns)) quiescence_->look();
      if (has_ready()) break;
    }
    if (now - start < rank_.spin_ns) {
      // The first microseconds without a pause, which takes 140 cycles on some cores.
      for (int i = 0; i < 16 && inbox_empty(); ++i) {
        if (!eager) cpu_relax();
      }
      if (eager && now - start > 3'000) {
        eager = false;
        slab::flush_returns();
        publish_counts();
      }
    } else if (devices != nullptr && devices->pending()) {
      slab::flush_returns();
      sched_yield();
    } else if (polls_network_) {
      slab::flush_returns();
      // Others may need the core more: give it away, and after a while sleep a little as well.
      if (now - start > 2'000'000) {
        sleep(50);
      } else {
        sched_yield();
      }
    } else {
      slab::flush_returns();
      publish_counts();
      const std::int64_t limit =
          idle_interval_ns_ == 0 ? -1 : std::max<std::int64_t>(1, (next_idle_look_ - now) / 1000);
      task_stealing* const all = rank_.helpers.get();
      const auto me = static_cast<std::size_t>(id_ - rank_.first_pe());
      if (all != nullptr) all->ask(me);
      if (all == nullptr || !all->any(me)) sleep(limit);
      if (all != nullptr) all->withdraw(me);
    }
    if ((++rounds & 3) == 0 || now - start >= rank_.spin_ns) now = now_ns();
  }
  withdraw_counts();
  if (track != nullptr) track->idle_end();
}

void scheduler::hand_over(wire_message* m, std::uint64_t bytes) {
  if (track != nullptr) [[unlikely]]
    m->header.flow = trace_send(bytes, m->header.to);
  transport_->send(m->header.to / rank_.pes_per_rank, m);
}

void scheduler::ended(entry_activity* a) {
  a->next_ended = ended_;
  ended_ = a;
}

void scheduler::reap() {
  while (entry_activity* a = ended_) {
    ended_ = a->next_ended;
    try {
      a->conclude(*this, *a);
    } catch (...) {
      fail_entry(a->element, a->name, std::current_exception());
    }
    entry_activity::destroy(*this, a);
  }
}

void traced_message::begin(scheduler& pe, const char* name, trace_category c, std::uint64_t flow) {
  track_ = pe.track;
  track_->begin(name, c);
  track_->flow_in(flow);
}

void traced_message::end() { track_->end(); }

void scheduler::receive(work* w, work_action action) {
  auto* m = static_cast<wire_message*>(w);
  if (action == work_action::discard) return wire_message::destroy(m);
  arrival_order& arrivals = current().arrivals_;
  // A parted message waits with what it fetches, not before.
  if (arrivals.any() && m->header.is_parted == 0 && arrivals.hold(m, &scheduler::receive_in_turn)) [[unlikely]]
    return;
  receive_in_turn(w, action);
}

void scheduler::receive_in_turn(work* w, work_action action) {
  auto* m = static_cast<wire_message*>(w);
  if (action == work_action::discard) return wire_message::destroy(m);
  scheduler& pe = current();
  const auto& handlers = handler_info::registry();
  const std::uint32_t number = m->header.handler;
  if (number >= handlers.size()) {
    pe.fail_job(
        fmt::format(
            "PE {} got a message for handler {} from PE {}, but there are only {}: the ranks run different programs",
            pe.id(), number, m->header.from, handlers.size()),
        1);
    wire_message::destroy(m);
    return;
  }
  const handler_info& h = *handlers[number];
  try {
    h.receive(pe, m);  // frees it
  } catch (...) {
    pe.fail_body(h.type_name, std::current_exception());
  }
}

// ------------------------------------------------------------------------------------------------ the PE tree

// Ranks form a tree of their own, so that each message between ranks serves a whole process; the first PE of each rank
// (on the root's rank: the root) passes it on to the other PEs of its process.
pe_id scheduler::tree_parent_of(pe_id pe, pe_id root) const {
  const int p = rank_.pes_per_rank;
  const int rank = pe / p;
  const int root_rank = root / p;
  const pe_id leader = rank == root_rank ? root : rank * p;
  if (pe != leader) {
    const int place = (pe - leader + p) % p;
    return rank * p + (leader - rank * p + (place - 1) / tree_arity) % p;
  }
  const int place = (rank - root_rank + rank_.num_ranks) % rank_.num_ranks;
  if (place == 0) return no_pe;
  const int above = ((place - 1) / tree_arity + root_rank) % rank_.num_ranks;
  return above == root_rank ? root : above * p;
}

void scheduler::tree_children_of(pe_id pe, pe_id root, std::vector<pe_id>& children) const {
  children.clear();
  const int p = rank_.pes_per_rank;
  const int rank = pe / p;
  const int root_rank = root / p;
  const pe_id leader = rank == root_rank ? root : rank * p;
  if (pe == leader) {
    const int place = (rank - root_rank + rank_.num_ranks) % rank_.num_ranks;
    for (int c = place * tree_arity + 1; c <= place * tree_arity + tree_arity && c < rank_.num_ranks; ++c) {
      children.push_back((c + root_rank) % rank_.num_ranks * p);
    }
  }
  const int place = (pe - leader + p) % p;
  for (int c = place * tree_arity + 1; c <= place * tree_arity + tree_arity && c < p; ++c) {
    children.push_back(rank * p + (leader - rank * p + c) % p);
  }
}

// ------------------------------------------------------------------------------------------------ collections

void scheduler::add_collection(std::unique_ptr<collection> c) {
  auto& of_creator = collections_[static_cast<std::size_t>(c->id().creator)];
  const std::size_t number = c->id().number;
  if (of_creator.size() <= number) of_creator.resize(number + 1);
  std::erase_if(early_broadcasts_, [&](const early_broadcasts& b) {
    if (!(b.array == c->id())) return false;
    c->broadcasts().continue_from(b.begun);
    return true;
  });
  of_creator[number] = std::move(c);
}

std::uint32_t scheduler::number_broadcast(collection_id c, priority p) {
  if (collection* const part = find_collection(c)) return part->broadcasts().begin(p.value);
  const auto place = static_cast<std::size_t>(p.value - priority::most_urgent);
  for (early_broadcasts& b : early_broadcasts_) {
    if (b.array == c) return ++b.begun[place];
  }
  early_broadcasts_.push_back({c});
  return ++early_broadcasts_.back().begun[place];
}

void scheduler::refuse_unknown(collection_id c) {
  if (c.creator == no_pe) {
    throw usage_error(
        "an empty proxy was used, which names no chare: assign it one that create, create_array or another chare gave");
  }
  throw usage_error(fmt::format("a proxy names a chare that PE {} created, but there is no such PE", c.creator));
}

collection* scheduler::look_up_singles(collection_id c) {
  const auto& classes = singles_class::registry();
  const std::size_t number = c.number & ~collection_id::singles;
  if (number >= classes.size()) refuse_unknown({no_pe, 0});
  if (singles_.size() < classes.size()) singles_.resize(classes.size());
  if (singles_[number] == nullptr) singles_[number] = classes[number]->make(*this, c);
  last_found_id_ = c;
  last_found_ = singles_[number].get();
  return last_found_;
}

template <class F>
void scheduler::for_each_collection(F f) const {
  for (const auto& of_creator : collections_) {
    for (const auto& c : of_creator) {
      if (c) f(*c);
    }
  }
  for (const auto& c : singles_) {
    if (c) f(*c);
  }
}

void scheduler::refuse_held() {
  refuses_held_ = true;
  for_each_collection([](collection& c) { c.retry_held(); });
  refuses_held_ = false;
}

void scheduler::release_held(collection_id c) {
  std::vector<work*> released;
  std::erase_if(held_, [&](const held& h) {
    if (h.id == c) released.push_back(h.message);
    return h.id == c;
  });
  post_in_front(released);
}

// ------------------------------------------------------------------------------------------------ failure and end

namespace {
struct exit_body {
  static constexpr bool counted = false;
  bool to_rank = false;
  job_end end;

  void operator()(scheduler& pe) {
    rank_context& rank = pe.rank();
    if (to_rank) {
      rank.end.decide(end);
      for (scheduler* other : rank.pes) {
        if (other != &pe) pe.send(other->id(), exit_body{false, end}, priorities::system);
      }
    }
    pe.stop();
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & to_rank & end;
  }
};

void write_report(const rank_context& rank, const std::string& report) {
  const std::string line = rank.num_ranks > 1 ? fmt::format("imbrex [rank {}]: error: {}\n", rank.rank, report)
                                              : fmt::format("imbrex: error: {}\n", report);
  std::fflush(stdout);
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fflush(stderr);
}
}  // namespace

void scheduler::exit_job(int code, bool failed) noexcept {
  const job_end end{failed, code};
  if (rank_.end.decide(end)) tell_end(end);
}

// A rank that cannot be told is waited for in `transport::stop`, after a failure for some seconds only.
void scheduler::tell_end(const job_end& end) noexcept {
  for (int r = 0; r < rank_.num_ranks; ++r) {
    if (r == rank_.rank) continue;
    try {
      send(r * rank_.pes_per_rank, exit_body{true, end}, priorities::system);
    } catch (const std::exception& e) {
      if (rank_.end.decide({true, exit_code_failed_entry}))
        write_report(rank_, fmt::format("rank {} could not be told of the end: {}", r, e.what()));
    }
  }
  for (scheduler* other : rank_.pes) send(other->id(), exit_body{false, end}, priorities::system);
}

void scheduler::fail_job(const std::string& report, int code) noexcept {
  const job_end end{true, code};
  if (!rank_.end.decide(end)) return;
  write_report(rank_, report);
  tell_end(end);
}

void scheduler::fail_entry(const element_base* e, const char* method, std::exception_ptr failure) noexcept {
  std::string what;
  int code = exit_code_failed_entry;
  try {
    std::rethrow_exception(failure);
  } catch (const error& x) {
    what = x.what();
    // The main chare speaks for the program: a wrong option it finds is the user's, not a crash.
    if (e == nullptr && method == main_chare_name) code = x.exit_code();
  } catch (const std::exception& x) {
    what = fmt::format("{} ({})", x.what(), "std::exception");
  } catch (...) {
    what = "an exception that is no std::exception";
  }
  if (code != exit_code_failed_entry) {
    fail_job(what, code);
    return;
  }
  const std::string who = e != nullptr ? fmt::format("{} of {}", method, e->part->text(*e)) : std::string(method);
  fail_job(fmt::format("{} on PE {} (rank {}) threw: {}", who, id_, rank_.rank, what), code);
}

void scheduler::fail_body(const char* type, std::exception_ptr failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const error& x) {
    fail_job(fmt::format("{} (on PE {} of rank {})", x.what(), id_, rank_.rank), exit_code_failed_entry);
  } catch (...) {
    fail_entry(nullptr, type, std::current_exception());
  }
}

void scheduler::discard_queued() {
  if (progress_source* const all = failed_devices_ != nullptr ? failed_devices_ : devices; all != nullptr)
    all->let_pass();
  bundles_.discard();
  arrivals_.discard();
  do {
    collect();
    while (work* w = next()) w->act(w, work_action::discard);
  } while (!inbox_empty());
  for (const held& h : std::exchange(held_, {})) h.message->act(h.message, work_action::discard);
}

void scheduler::destroy_objects() {
  stopping_ = true;
  if (failed_devices_ != nullptr) devices = failed_devices_;
  constexpr std::int64_t patience_ns = 5'000'000'000;
  if (devices != nullptr && !devices->drain(rank_.end.get().failed ? now_ns() + patience_ns : INT64_MAX))
    leave_devices();
  ended_ = nullptr;
  while (first_activity != nullptr) entry_activity::destroy(*this, first_activity);
  for_each_collection([](collection& c) { c.destroy_objects(); });
}

void scheduler::destroy_collections() {
  discard_queued();
  last_found_id_ = nothing_found;
  last_found_ = nullptr;
  collections_.clear();
  singles_.clear();
  objects.reset();
  tell_failures();
  hetero.reset();
  slab::flush_returns();
}

/// Of a job that was ended before it was quiet: otherwise they have made it fail.
void scheduler::tell_failures() {
  if (rank_.end.get().failed) return;
  for (const std::string& line : describe_failures(16)) {
    std::fprintf(stderr, "imbrex: error: a task has failed, and nobody has awaited it: %s\n", line.c_str());
    rank_.end.decide({true, exit_code_failed_entry});
  }
}

void scheduler::unbind_from_this_thread() {
  slab::unbind_this_thread();
  executor::set_current(nullptr);
}

// Memory that something on a GPU may still write to cannot be given back: the process ends as it is.
void scheduler::leave_devices() {
  std::fprintf(
      stderr, "imbrex: error: what PE %d of rank %d has on its GPUs did not end within 5 s of the failure: giving up\n",
      id_, rank_.rank);
  std::fflush(nullptr);
  const int code = rank_.end.get().code;
  if (transport_ != nullptr) transport_->abort(code);
  std::_Exit(code);
}

scheduler::counts scheduler::message_counts() const {
  counts c{created_, processed_, operations, held_messages_, refused_messages_, num_activities, 0};
  if (hetero == nullptr) return c;
  c.held += hetero->has_stuck() ? 1 : 0;
  c.failed = hetero->failures().size();
  return c;
}

std::vector<std::string> scheduler::describe_failures(std::size_t limit) const {
  if (hetero == nullptr) return {};
  std::vector<std::string> lines = hetero->failures().texts(limit);
  for (std::string& l : lines) l = fmt::format("PE {}: {}", id_, l);
  return lines;
}

std::vector<std::string> scheduler::describe_waits(std::size_t limit) const {
  std::vector<std::string> lines;
  std::size_t left_out = 0;
  auto add = [&](std::string line) {
    if (lines.size() < limit) {
      lines.push_back(fmt::format("PE {}: {}", id_, line));
    } else {
      ++left_out;
    }
  };
  auto describe = [&](const entry_activity* a, const std::string& who) {
    for (; a != nullptr; a = a->following) {
      std::string what;
      for (const waiter* w = a->first_waiter; w != nullptr; w = w->following) {
        what += fmt::format("{}{}", what.empty() ? "" : " and for ", w->describe(w));
      }
      add(fmt::format("{}{}{} waits for {}", a->name, who.empty() ? "" : " of ", who,
                      what.empty() ? "something the runtime does not know" : what));
    }
  };
  describe(first_activity, "");
  for_each_collection([&](collection& c) {
    for (const element_base* e : c.here()) describe(e->activities, c.text(*e));
    c.for_each_known([&](element_base& e) {
      std::size_t n = 0;
      for (work* w = e.extras ? e.extras->held_first : nullptr; w != nullptr; w = w->next) ++n;
      if (n > 0) add(fmt::format("{} message{} for {}, which does not exist", n, n == 1 ? "" : "s", c.text(e)));
    });
    if (std::string r = c.reductions().describe(); !r.empty()) add(r);
  });
  if (hetero != nullptr) {
    for (const std::string& line : hetero->describe_stuck(limit)) add(line);
    for (const std::string& line : hetero->failures().texts(limit)) add("failed, and nobody has awaited it: " + line);
  }
  if (!held_.empty()) add(fmt::format("{} messages for a collection that was never created here", held_.size()));
  if (left_out > 0) lines.push_back(fmt::format("PE {}: and {} more", id_, left_out));
  return lines;
}

std::uint64_t scheduler::trace_send(std::uint64_t bytes, pe_id to) {
  track->count_message(bytes, to == id_            ? message_reach::same_pe
                              : rank_.is_local(to) ? message_reach::other_pe
                                                   : message_reach::other_rank);
  return track->new_flow();
}

}  // namespace imbrex
