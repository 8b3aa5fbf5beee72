#include "imbrex/pe/scheduler.h"

#include <algorithm>

#include <fmt/format.h>

#include "imbrex/comm/rank_lost.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/pe/quiescence.h"
#include "imbrex/pe/registered_types.h"
#include "imbrex/trace/trace_slice.h"

namespace imbrex {

namespace {
constexpr std::int64_t notice_ns = 50'000;  // without work, after which what GPUs still do is looked after
}  // namespace

std::vector<handler_info*>& handler_info::registry() {
  static std::vector<handler_info*> all;
  return all;
}

std::uint64_t handler_info::seal() {
  static const std::uint64_t digest = detail::number_by_name(registry());
  return digest;
}

scheduler::scheduler(rank_context& rank, pe_id id, trace_track* t)
    : rank_(rank),
      id_(id),
      num_pes_(rank.num_pes()),
      tree_(rank.num_ranks, rank.pes_per_rank),
      transport_(rank.transport),
      bundles_(*this, rank.transport, id, rank.pes_per_rank),
      idle_(std::make_unique<spin_then_sleep>(rank.spin_ns)) {
  track = t;
  time = rank.time;
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
  pe_of_process = [](executor& e, std::size_t i) -> executor* {
    const std::vector<scheduler*>& all = static_cast<scheduler&>(e).rank().pes;
    return i < all.size() ? all[i] : nullptr;
  };
  polls_network_ = transport_ != nullptr && transport_->needs_polling();
  quiescence_ = std::make_unique<quiescence_detector>(*this);
  if (id_ == 0) idle_interval_ns_ = 50'000'000;
}

scheduler::~scheduler() = default;

void scheduler::bind_to_this_thread() {
  executor::set_current(this);
  slab_.bind_to_this_thread();
}

// ------------------------------------------------------------------------------------------------ the loop

/// In the loop of `run`, where a call for each piece of work would be felt.
[[gnu::always_inline]] inline pe_step scheduler::step_inline() {
  begins_turn();
  collect();
  work* const w = next();
  if (w == nullptr) [[unlikely]]
    return look();
  w->act(w, work_action::run);
  if (ended_ != nullptr) [[unlikely]]
    reap();
  if (devices != nullptr) poll_devices();
  if (polls_network_ && network_interval_.is_due()) {
    network_interval_.looked(cycle_count());
    poll_network();
    if (bundles_.any()) [[unlikely]]
      bundles_.flush_old();
  }
  return pe_step::work;
}

pe_step scheduler::step() { return step_inline(); }

void scheduler::run() {
  if (ended_ != nullptr) reap();  // the main chare never had to wait
  while (!stopping_) {
    if (step_inline() == pe_step::nothing) [[unlikely]] {
      rests_now();
      idle_->wait(*this);
    }
  }
  rests_now();
}

pe_step scheduler::look() {
  if (bundles_.any()) bundles_.flush();
  if (help()) return pe_step::helped;
  // More may be coming at once, such as the next piece of a large array.
  if (polls_network_ && poll_network() && devices == nullptr) return pe_step::network;
  if (devices == nullptr) return pe_step::nothing;
  poll_devices();
  if (bundles_.any()) bundles_.flush();  // of a function that a stream has run
  return has_ready() ? pe_step::devices : pe_step::nothing;
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
  } catch (const rank_lost&) {
    exit_job(begin_again, true);
    return false;
  } catch (...) {
    fail_entry("the transport", std::current_exception());
    return false;
  }
}

bool scheduler::help() {
  task_stealing* const all = rank_.helpers.get();
  const auto me = static_cast<std::size_t>(id_ - rank_.first_pe());
  if (all != nullptr && all->any(me)) {
    withdraw_counts();
    if (all->run_one(me)) return true;
  }
  return shared != nullptr && shared->steal();
}

// PE 0 looks itself. What devices and the network do at any moment changes the counts, or may.
void scheduler::publish_counts() {
  if (id_ != 0 && devices == nullptr && !polls_network_ && !idle_counts_.published())
    idle_counts_.publish(message_counts());
}

void scheduler::is_idle_since(std::int64_t began, std::int64_t now) {
  if (devices != nullptr && now - began >= notice_ns && noticed_in_ != began) {
    noticed_in_ = began;
    devices->ensure_noticed();
  }
  if (idle_interval_ns_ == 0 || now < next_idle_look_) return;
  next_idle_look_ = now + idle_interval_ns_;
  if (now - began >= std::min<std::int64_t>(idle_interval_ns_, rank_.spin_ns)) quiescence_->look();
}

void scheduler::sleep_until_called(std::int64_t now) {
  const std::int64_t limit = idle_interval_ns_ == 0 ? -1 : std::max<std::int64_t>(1, (next_idle_look_ - now) / 1000);
  const auto me = static_cast<std::size_t>(id_ - rank_.first_pe());
  if (rank_.asleep != nullptr) rank_.asleep->ask(me);
  const bool any = (rank_.helpers != nullptr && rank_.helpers->any(me)) || (shared != nullptr && shared->sees_offers());
  if (!any) sleep(limit);
  if (rank_.asleep != nullptr) rank_.asleep->withdraw(me);
}

void scheduler::throw_no_pe() {
  throw usage_error(
      "this is done inside of a job, by the thread of a PE: in the main chare, an entry method or a task; a thread of "
      "the program's own cannot");
}

// Messages to other ranks.

void scheduler::send_to_rank(const detail::leaving_kind& k, pe_id to, void* body, priority p) {
  if (stopping_) [[unlikely]]
    return;  // a destructor's message, at the end of the job
  if (static_cast<std::uint32_t>(to) >= static_cast<std::uint32_t>(num_pes_)) [[unlikely]]
    refuse_pe(to);
  if (k.aggregated && bundled(k, to, body, p)) return;
  if (bundles_.any()) [[unlikely]]
    bundles_.flush(to);
  sizing_archive size(k.keep != nullptr ? mover->largest_inside() : any_size);
  k.size(body, size);
  if (size.num_left_out() > 0) [[unlikely]]
    return send_parted(k, to, body, p);
  owned_message m = wire_message_to(to, k.receiver, size.size(), p);
  output_archive out(m->payload());
  k.write(body, out);
  hand_over(k, std::move(m), size.size());
}

void scheduler::send_parted(const detail::leaving_kind& k, pe_id to, void* body, priority p) {
  auto parts = k.keep(body);
  const std::uint64_t largest_inside = mover->largest_inside();
  sizing_archive size(largest_inside);
  k.size(parts->body, size);
  std::vector<large_block> blocks;
  owned_message m = wire_message_to(to, k.receiver, size.size(), p);
  m->header.is_parted = 1;
  output_archive out(m->payload(), largest_inside, mover->take_ids(size.num_left_out(), true), blocks);
  k.write(parts->body, out);
  std::uint64_t bytes = size.size();
  for (const large_block& b : blocks) bytes += b.bytes;
  hand_over(k, std::move(m), bytes);
  const rank_id there = to / rank_.pes_per_rank;
  parts.release()->begin(*this, priorities::communication.value, blocks, [&](const large_block& b, transfer* done) {
    transport_->send_data(there, to, b.id, {b.data, b.bytes, memory_kind::host, -1}, done);
  });
}

// Puts a small message to those that travel together; false when it is not small.
bool scheduler::bundled(const detail::leaving_kind& k, pe_id to, void* body, priority p) {
  sizing_archive size;
  k.size(body, size);
  if (size.size() > message_bundles::most_bytes) return false;
  wire_header h;
  h.size = size.size();
  h.handler = k.receiver.number;
  h.to = to;
  h.from = id_;
  h.level = static_cast<std::int8_t>(p.value);
  if (track != nullptr) [[unlikely]]
    h.flow = trace_send(h.size, to);
  output_archive out(bundles_.add(h));
  k.write(body, out);
  if (k.counted) ++created_;
  return true;
}

scheduler::owned_message scheduler::wire_message_to(pe_id to, const handler_info& receiver, std::uint64_t bytes,
                                                    priority p) const {
  owned_message m(wire_message::make(bytes), &wire_message::destroy);
  m->header.handler = receiver.number;
  m->header.to = to;
  m->header.from = id_;
  m->header.level = static_cast<std::int8_t>(p.value);
  return m;
}

void scheduler::receive_parted(wire_message* m, std::unique_ptr<detail::arriving_body> body) {
  const rank_id source = m->header.from / rank_.pes_per_rank;
  detail::arriving_body::start(*this, *transport_, source, m, std::move(body));
}

// Counted here and not before: a serialize that throws leaves nothing under way.
void scheduler::hand_over(const detail::leaving_kind& k, owned_message m, std::uint64_t bytes) {
  if (track != nullptr) [[unlikely]]
    m->header.flow = trace_send(bytes, m->header.to);
  if (k.counted) ++created_;
  const rank_id there = m->header.to / rank_.pes_per_rank;
  transport_->send(there, m.release());
}

void scheduler::reap() {
  while (ended_activity* a = ended_) {
    ended_ = a->next_ended;
    a->see_to(*this, *a);
  }
}

void perform_traced(scheduler& pe, const char* name, trace_category c, std::uint64_t flow,
                    void (*perform)(scheduler&, void*, std::uint64_t), void* body) {
  trace_track& track = *pe.track;
  const trace_slice whole(&track, name, c);
  track.flow_in(flow);
  perform(pe, body, 0);
}

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
  const pe_id from = m->header.from;
  try {
    h.receive(pe, m);  // frees it
  } catch (...) {      // of one with large arrays
    pe.fail_reading(h.type_name, from, std::current_exception());
  }
}

void scheduler::refuse_pe(pe_id to) {
  if (to == no_pe) {
    throw usage_error(
        "an empty proxy was used, which names no chare: assign it one that create, create_array or another chare gave");
  }
  throw usage_error(fmt::format("a proxy names a chare that PE {} created, but there is no such PE", to));
}

// ------------------------------------------------------------------------------------------------ what it says of
// itself

scheduler::counts scheduler::message_counts() const {
  counts c{.created = created_ + errands_given, .processed = processed_ + errands_done, .pending = operations};
  add_counts(c);
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
  add_waits(add);
  if (objects != nullptr) objects->add_waits(add);
  if (hetero != nullptr) {
    for (const std::string& line : hetero->describe_stuck(limit)) add(line);
    for (const std::string& line : hetero->failures().texts(limit)) add("failed, and nobody has awaited it: " + line);
  }
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
