#include "imbrex/virtual_time/gpu/simulated_queue.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

#include "imbrex/pe/scheduler.h"
#include "imbrex/virtual_time/core/virtual_pe.h"
#include "imbrex/virtual_time/gpu/simulated_point.h"

namespace imbrex {

namespace {
constexpr std::int64_t look_at_flag_ns = 100;  // a PE's, once it is set

trace_category category_of(simulated_queue::step::kind k) {
  return k == simulated_queue::step::kind::copy ? trace_category::copy : trace_category::kernel;
}
}  // namespace

simulated_queue::step* simulated_queue::make_step(step::kind what, const char* name) {
  auto* s = new (slab::allocate(sizeof(step))) step;
  s->what = what;
  s->name = name;
  return s;
}

void simulated_queue::free_step(step* s) noexcept {
  s->~step();
  slab::free(s);
}

simulated_queue::simulated_queue(simulated_cluster& cluster, simulated_gpu& gpu, executor& pe, stream_priority urgency)
    : cluster_(cluster), gpu_(&gpu), pe_(&pe), owner_(pe.acting()), urgency_(urgency) {
  happen = [](timed_event& e) {
    auto& self = static_cast<simulated_queue&>(e);
    self.look_is_due_ = false;
    --self.num_due_;
    if (!self.is_abandoned_) self.advance();
    self.may_end();
  };
  ended = [](gpu_engine::customer& c) { static_cast<simulated_queue&>(c).step_has_ended(); };
  turn_ = new (slab::allocate(sizeof(turn))) turn;
  turn_->of = this;
  turn_->set_priority(priorities::communication);
  turn_->act = [](work* w, work_action action) {
    auto* t = static_cast<turn*>(w);
    if (t->of == nullptr) return slab::free(t);
    t->of->turn_is_queued_ = false;
    if (action == work_action::run) t->of->run_functions();
  };
}

// ------------------------------------------------------------------------------------------------ the stream's side

void simulated_queue::becomes_busy() {
  if (std::exchange(is_busy_, true)) return;
  ++pe_->operations;
}

void simulated_queue::may_be_idle() {
  if (!is_busy_ || !idle()) return;
  is_busy_ = false;
  --pe_->operations;
}

void simulated_queue::put(step* s) {
  s->ready_at = std::max(s->ready_at, virtual_pe::of(*pe_).now_ns());
  (last_ != nullptr ? last_->next : first_) = s;
  last_ = s;
  becomes_busy();
  if (first_ == s && !under_way_) advance();
}

void simulated_queue::abandon() {
  is_abandoned_ = true;
  track_ = nullptr;
  if (blocked_at_ != nullptr) std::erase(blocked_at_->waiting, this);
  blocked_at_ = nullptr;
  for (const function& f : std::exchange(functions_, {})) {
    if (f.is_gate) virtual_pe::of(*pe_).was_wanted();
    f.operation->act(f.operation, work_action::discard);
  }
  bool in_order = true;  // nothing that must come first is left out
  while (step* const s = first_) {
    first_ = s->next;
    if (s->what == step::kind::wait && !s->point->is_complete) in_order = false;
    if (in_order && s->what != step::kind::gate && s->what != step::kind::notice) {
      do_effects(*s);
    } else if (s->operation != nullptr) {
      s->operation->act(s->operation, work_action::discard);
      if (s->what == step::kind::notice) no_longer_awaited();
    }
    if (s->point != nullptr && s->what == step::kind::record) complete(*s->point);
    free_step(s);
  }
  last_ = nullptr;
  under_way_ = false;
  num_functions_ = 0;
  if (std::exchange(is_busy_, false)) --pe_->operations;
  if (turn_is_queued_) {
    turn_->of = nullptr;  // freed when its turn comes
  } else {
    slab::free(turn_);
  }
  turn_ = nullptr;
  may_end();
}

void simulated_queue::may_end() {
  if (is_abandoned_ && num_due_ == 0) delete this;
}

void simulated_queue::move_to(executor& pe, simulated_gpu& gpu) {
  pe_ = &pe;
  gpu_ = &gpu;
  owner_ = pe.acting();
}

// ------------------------------------------------------------------------------------------------ the device's side

/// Begins what can begin.
void simulated_queue::advance() {
  while (!under_way_ && first_ != nullptr) {
    if (first_->ready_at > cluster_.time().now()) {
      if (!std::exchange(look_is_due_, true)) {
        ++num_due_;
        cluster_.time().at(first_->ready_at, *this);
      }
      return;
    }
    under_way_ = true;
    began_at_ = cluster_.time().now();
    begin(*first_);
  }
  may_be_idle();
}

void simulated_queue::begin(step& s) {
  switch (s.what) {
    case step::kind::kernel:
    case step::kind::fill: return begin_kernel(s.demand, 0);
    case step::kind::copy: return begin_copy(s);
    case step::kind::graph: return begin_graph(s);
    case step::kind::gate: return reach(std::exchange(s.operation, nullptr), true, began_at_);
    case step::kind::notice: reach(std::exchange(s.operation, nullptr), false, began_at_); break;
    case step::kind::record: complete(*s.point); break;
    case step::kind::wait:
      if (s.point->is_complete && knows_at(*s.point) <= began_at_) break;
      blocked_at_ = s.point.get();
      if (s.point->is_complete) return go_on();
      s.point->waiting.push_back(this);
      return;
  }
  // It takes no time: the loop of `advance` goes on.
  under_way_ = false;
  first_ = s.next;
  if (first_ == nullptr) last_ = nullptr;
  free_step(&s);
}

void simulated_queue::complete(simulated_point& p) {
  p.is_complete = true;
  p.at = cluster_.time().now();
  for (simulated_queue* const q : std::exchange(p.waiting, {})) q->go_on();
}

/// Events go over to other GPUs by way of memory.
std::int64_t simulated_queue::knows_at(const simulated_point& p) const {
  const bool is_other = p.of != nullptr && p.of != gpu_;
  return p.at + (is_other ? ns_of_us(cluster_.description().gpu.peer_event_us) : 0);
}

void simulated_queue::go_on() {
  const simulated_point* const p = std::exchange(blocked_at_, nullptr);
  ++num_due_;
  cluster_.time().call_at(knows_at(*p), [this] { step_has_ended(); });
}

void simulated_queue::begin_kernel(const kernel_demand& d, std::int64_t more_ns) {
  ++num_due_;
  waiting_demand_ = d;
  cluster_.time().call_at(cluster_.time().now() + d.least_ns + more_ns,
                          [this] { gpu_->engine().begin(waiting_demand_, urgency_, *this); });
}

void simulated_queue::begin_copy(step& s) {
  const machine& m = cluster_.description();
  if (cluster_.memory().is_within_one_gpu(s.to, s.from))
    return begin_kernel(demand_of_pass(m, 2 * s.bytes), ns_of_us(m.gpu.copy_start_us));
  ++num_due_;
  cluster_.time().call_at(cluster_.copied_at(*gpu_, s.to, s.from, s.bytes), [this] { step_has_ended(); });
}

void simulated_queue::begin_graph(step& s) {
  ++num_due_;
  graph_ = std::make_unique<graph_run>(cluster_, s.nodes, [this] {
    graph_.reset();
    step_has_ended();
  });
}

/// Told by what was counted as due; this may be gone afterwards.
void simulated_queue::step_has_ended() {
  --num_due_;
  if (!is_abandoned_) step_is_over();
  may_end();
}

void simulated_queue::step_is_over() {
  if (is_abandoned_) return;
  step* const s = first_;
  if (track_ != nullptr && s->what != step::kind::wait && s->what != step::kind::gate)
    track_->slice(s->name, category_of(s->what), began_at_, cluster_.time().now());
  do_effects(*s);
  first_ = s->next;
  if (first_ == nullptr) last_ = nullptr;
  under_way_ = false;
  free_step(s);
  advance();
}

/// What there are bytes for.
void simulated_queue::do_effects(step& s) {
  const ghost_memory& memory = cluster_.memory();
  if (s.what == step::kind::copy && !memory.contains(s.to) && !memory.contains(s.from)) {
    std::memmove(s.to, s.from, s.bytes);
  } else if (s.what == step::kind::fill && !memory.contains(s.to)) {
    std::memset(s.to, s.value, s.bytes);
  }
  if (stream_operation* const op = std::exchange(s.operation, nullptr); op != nullptr)
    op->act(op, memory.has_bytes() ? work_action::run : work_action::discard);
}

// ------------------------------------------------------------------------------------------------ functions

std::int64_t simulated_queue::notice_ns() const {
  const machine::gpu_part& g = cluster_.description().gpu;
  switch (cluster_.completion()) {
    case completion_mode::flag: return ns_of_us(g.flag_us);
    case completion_mode::event: return ns_of_us(g.event_query_us);
    case completion_mode::callback: return ns_of_us(g.callback_us);
    case completion_mode::sync: return ns_of_us(g.sync_us);
  }
  return 0;
}

void simulated_queue::reach(stream_operation* op, bool is_gate, std::int64_t when) {
  ++num_functions_;
  ++num_due_;
  cluster_.time().call_at(when + notice_ns(), [this, op, is_gate] {
    --num_due_;
    if (!is_gate) no_longer_awaited();
    if (is_abandoned_) {
      op->act(op, work_action::discard);
      return may_end();
    }
    functions_.push_back({op, is_gate});
    virtual_pe& pe = virtual_pe::of(*pe_);
    if (is_gate) pe.is_wanted();
    if (std::exchange(turn_is_queued_, true)) return;
    pe.deliver([&] { pe_->post(turn_); });
  });
}

/// Who asks for an end by cudaStreamSynchronize stands still until then.
void simulated_queue::no_longer_awaited() {
  if (cluster_.completion() == completion_mode::sync) virtual_pe::of(*pe_).release();
}

void simulated_queue::run_functions() {
  virtual_pe& pe = virtual_pe::of(*pe_);
  const bool asks = cluster_.completion() == completion_mode::event;
  pe.pay(pe_cost::notice, asks ? ns_of_us(cluster_.description().gpu.event_query_us) : look_at_flag_ns);
  ++num_due_;  // a function may end the stream
  for (const function& f : std::exchange(functions_, {})) {
    if (is_abandoned_) {
      if (f.is_gate) pe.was_wanted();
      f.operation->act(f.operation, work_action::discard);
      continue;
    }
    --num_functions_;
    try {
      const actor_turn of_owner(*pe_, owner_);
      f.operation->act(f.operation, work_action::run);
    } catch (...) {
      static_cast<scheduler&>(*pe_).fail_body("a function of a stream", std::current_exception());
    }
    if (f.is_gate) pe.was_wanted();
    if (!f.is_gate || is_abandoned_) continue;
    ++num_due_;
    cluster_.time().call_at(pe.now_ns() + ns_of_us(cluster_.description().gpu.start_us), [this] { step_has_ended(); });
  }
  --num_due_;
  if (!is_abandoned_) may_be_idle();
  may_end();
}

}  // namespace imbrex
