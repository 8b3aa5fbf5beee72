#include "imbrex/virtual_time/gpu/simulated_stream.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "imbrex/device/host/host_device.h"
#include "imbrex/virtual_time/core/virtual_pe.h"
#include "imbrex/virtual_time/gpu/simulated_point.h"

namespace imbrex {

namespace {

/// An event of the host, for which a stream of a GPU waits.
struct host_event_ends : work {
  std::shared_ptr<simulated_point> point;

  static void happen(work* w, work_action) {
    auto* self = static_cast<host_event_ends*>(w);
    self->point->is_complete = true;
    for (simulated_queue* const q : std::exchange(self->point->waiting, {})) q->go_on();
    self->~host_event_ends();
    slab::free(self);
  }
};

}  // namespace

simulated_stream::simulated_stream(simulated_device& d, stream_priority p, std::string label)
    : stream(std::move(label)),
      device_(&d),
      priority_(p),
      queue_(new simulated_queue(d.cluster(), d.gpu(), d.pe(), p)) {
  draw();
}

simulated_stream::~simulated_stream() { queue_->abandon(); }

void simulated_stream::draw() {
  trace_recorder* const recorder = device_->pe().recorder;
  if (recorder == nullptr) return;
  const int order = 10'000 + 1000 * device_->number() + (priority_ == stream_priority::high ? 1 : 0);
  queue_->trace_to(
      &recorder->add_track(fmt::format("GPU {}: {}", device_->number(), label()), order, track_kind::stream));
}

void simulated_stream::arrive(device& here) {
  device_ = static_cast<simulated_device*>(&here);
  queue_->move_to(device_->pe(), device_->gpu());
  last_point_.reset();
}

void simulated_stream::put(step* s, double host_us) {
  virtual_pe& pe = virtual_pe::of(device_->pe());
  pe.pay(pe_cost::launch, ns_of_us(host_us));
  s->ready_at = pe.now_ns();
  if (s->what != step::kind::notice && s->what != step::kind::record)
    s->ready_at += ns_of_us(device_->cluster().description().gpu.start_us);
  if (s->what != step::kind::record) last_point_.reset();
  queue_->put(s);
}

void simulated_stream::launched(const char* name, const launch_shape& shape, stream_operation* body) {
  simulated_cluster& c = device_->cluster();
  kernel_demand d;
  try {
    d = demand_of(c.description(), c.time(), name, shape, take_expected());
  } catch (...) {
    if (body != nullptr) body->act(body, work_action::discard);
    throw;
  }
  if (is_captured()) {
    if (body != nullptr) body->act(body, work_action::discard);
    if (c.memory().has_bytes()) {
      throw usage_error(
          fmt::format("kernel '{}' was captured in a graph, which a simulated device does not run with data: use "
                      "--imbrex-machine-data=off",
                      name));
    }
    return add_node({.demand = d});
  }
  step* const s = simulated_queue::make_step(step::kind::kernel, name);
  s->demand = d;
  s->operation = body;
  put(s, c.description().gpu.launch_us);
}

void simulated_stream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const machine& m = device_->cluster().description();
  if (is_captured()) {
    if (device_->cluster().memory().is_within_one_gpu(to, from))
      return add_node({.demand = demand_of_pass(m, 2 * bytes)});
    return add_node({.from = from, .to = to, .bytes = bytes});
  }
  step* const s = simulated_queue::make_step(step::kind::copy, "copy");
  s->to = to;
  s->from = from;
  s->bytes = bytes;
  put(s, m.gpu.copy_us);
}

void simulated_stream::fill(void* to, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  const machine& m = device_->cluster().description();
  if (is_captured()) return add_node({.demand = demand_of_pass(m, bytes)});
  step* const s = simulated_queue::make_step(step::kind::fill, "fill");
  s->to = to;
  s->value = value;
  s->bytes = bytes;
  s->demand = demand_of_pass(m, bytes);
  put(s, m.gpu.copy_us);
}

std::shared_ptr<simulated_point> simulated_stream::point() {
  if (last_point_ != nullptr) return last_point_;
  auto p = std::make_shared<simulated_point>();
  p->of = &device_->gpu();
  if (queue_->idle()) {
    p->is_complete = true;
    virtual_pe::of(device_->pe()).pay(pe_cost::launch, ns_of_us(device_->cluster().description().gpu.event_us));
    return p;
  }
  step* const s = simulated_queue::make_step(step::kind::record, "event");
  s->point = p;
  put(s, device_->cluster().description().gpu.event_us);
  last_point_ = p;
  return p;
}

event simulated_stream::record() {
  if (is_captured()) {
    auto p = std::make_shared<simulated_point>();
    p->is_complete = true;
    device_->cluster().capture->record(*this, p);
    return event(p);
  }
  return event(point());
}

void simulated_stream::wait(const event& e) {
  if (open_capture* const c = device_->cluster().capture; c != nullptr) {
    if (c->wait(*this, e.state().get()) || is_captured()) return;
  }
  if (e.complete()) return;
  auto p = std::dynamic_pointer_cast<simulated_point>(e.state());
  if (p == nullptr) {
    auto* const of_host = dynamic_cast<host_event*>(e.state().get());
    if (of_host == nullptr) throw usage_error(label() + " was to wait for an event of a device that is not simulated");
    p = std::make_shared<simulated_point>();
    auto* const ends = new (slab::allocate(sizeof(host_event_ends))) host_event_ends;
    ends->act = &host_event_ends::happen;
    ends->point = p;
    if (!of_host->stop(&device_->pe(), ends)) return host_event_ends::happen(ends, work_action::run);
  }
  step* const s = simulated_queue::make_step(step::kind::wait, "wait");
  s->point = std::move(p);
  put(s, device_->cluster().description().gpu.event_us);
}

bool simulated_stream::record_shared(shared_point& p) {
  const auto mine = point();
  p.word.handle.size = 1;
  p.value = device_->cluster().share(mine);
  return true;
}

void simulated_stream::enqueue(stream_operation* op) {
  step* const s = simulated_queue::make_step(op->is_kernel ? step::kind::gate : step::kind::notice, op->name);
  s->operation = op;
  if (device_->cluster().completion() == completion_mode::sync && !op->is_kernel) virtual_pe::of(device_->pe()).hold();
  put(s, device_->cluster().description().gpu.event_us);
}

// ------------------------------------------------------------------------------------------------ graphs

bool simulated_stream::is_captured() const {
  const open_capture* const c = device_->cluster().capture;
  return c != nullptr && c->has(*this);
}

void simulated_stream::add_node(graph_node node) {
  node.gpu = &device_->gpu();
  node.urgency = priority_;
  device_->cluster().capture->add(*this, std::move(node));
}

std::vector<graph_node> simulated_stream::captured(const std::function<void()>& enqueue) {
  open_capture mine(*this);
  struct closes {
    ~closes() { now = before; }
    open_capture*& now;
    open_capture* before;
  };
  open_capture*& now = device_->cluster().capture;
  const closes after{now, std::exchange(now, &mine)};
  enqueue();
  return mine.take();
}

std::unique_ptr<graph> simulated_stream::capture(const std::function<void()>& enqueue) {
  return std::make_unique<simulated_graph>(captured(enqueue));
}

bool simulated_stream::recapture(graph& g, const std::function<void()>& enqueue) {
  static_cast<simulated_graph&>(g).set(captured(enqueue));
  return true;
}

void simulated_stream::run(graph& g) {
  const auto& nodes = static_cast<simulated_graph&>(g).nodes();
  if (nodes->empty()) return;
  step* const s = simulated_queue::make_step(step::kind::graph, "graph");
  s->nodes = nodes;
  put(s, device_->cluster().description().gpu.graph_launch_us);
}

}  // namespace imbrex
