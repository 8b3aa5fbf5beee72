#include "imbrex/device/host/host_device.h"

#include <unistd.h>
#include <cstdlib>
#include <cstring>
#include <exception>

#include <fmt/format.h>

#include "imbrex/async/actor.h"
#include "imbrex/base/error.h"
#include "imbrex/base/topology.h"
#include "imbrex/device/host/host_stream.h"
#include "imbrex/device/pool/memory_guards.h"

namespace imbrex {

// ------------------------------------------------------------------------------------------------ events

host_event::~host_event() {
  stopped* s = waiting_.load(std::memory_order_acquire);
  while (s != nullptr && s != happened()) {
    stopped* following = s->next;
    slab::free(s);
    s = following;
  }
}

void host_event::happen() {
  stopped* s = waiting_.exchange(happened(), std::memory_order_acq_rel);
  while (s != nullptr) {
    stopped* following = s->next;
    s->home->post(s->stream);
    slab::free(s);
    s = following;
  }
}

bool host_event::stop(executor* home, work* stream) {
  auto* s = new (slab::allocate(sizeof(stopped))) stopped{home, stream, nullptr};
  stopped* head = waiting_.load(std::memory_order_acquire);
  do {
    if (head == happened()) {
      slab::free(s);
      return false;
    }
    s->next = head;
  } while (!waiting_.compare_exchange_weak(head, s, std::memory_order_acq_rel, std::memory_order_acquire));
  return true;
}

// ------------------------------------------------------------------------------------------------ device

memory_info host_device::memory() const {
  const auto pages = static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES));
  return {pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)), available_host_memory()};
}

void* host_device::allocate(std::size_t bytes, memory_kind) {
  if (guards() == nullptr) return memory_.allocate(bytes);
  return guards()->put(*this, memory_.allocate(memory_guards::with_guards(bytes)), bytes, memory_kind::host);
}

void host_device::free(void* memory, std::size_t bytes, memory_kind) noexcept {
  if (guards() == nullptr) return memory_.free(memory, bytes);
  memory_.free(guards()->take_off(*this, memory), memory_guards::with_guards(bytes));
}

void* host_device::allocate_unpooled(std::size_t bytes) {
  void* const memory = std::aligned_alloc(64, bytes / 64 * 64 + 64);
  if (memory == nullptr) throw out_of_memory("the host has no room for " + std::to_string(bytes) + " bytes");
  return memory;
}

void host_device::free_unpooled(void* memory) noexcept { std::free(memory); }

memory_usage host_device::used(memory_kind) const {
  const host_memory::usage u = memory_.used();
  return {u.in_use, u.high_water, u.in_use + u.kept, u.from_system};
}

void host_device::read_now(void* to, const void* from, std::size_t bytes, const event& e) {
  if (!e.complete()) throw usage_error("memory of the host device was read before the operations on it had finished");
  if (bytes > 0) std::memcpy(to, from, bytes);
}

std::unique_ptr<stream> host_device::make_stream(stream_priority p, std::string label) {
  return std::make_unique<host_stream>(*this, pe_, p, std::move(label));
}

// ------------------------------------------------------------------------------------------------ streams

namespace {

struct record_operation final : stream_operation {
  std::shared_ptr<host_event> point;
  static stream_operation* make(std::shared_ptr<host_event> e) {
    auto* op = new (slab::allocate(sizeof(record_operation))) record_operation;
    op->name = "record";
    op->only_reads = true;
    op->point = std::move(e);
    op->act = [](stream_operation* o, work_action) {
      auto* self = static_cast<record_operation*>(o);
      self->point->happen();  // also when dropped: nobody waits for a stream that is gone
      self->~record_operation();
      slab::free(self);
    };
    return op;
  }
};

struct wait_operation final : stream_operation {
  std::shared_ptr<event_state> point;
  static stream_operation* make(std::shared_ptr<event_state> e) {
    auto* op = new (slab::allocate(sizeof(wait_operation))) wait_operation;
    op->name = "wait";
    op->only_reads = true;
    op->point = std::move(e);
    op->ready = [](stream_operation* o) { return static_cast<wait_operation*>(o)->point->complete(); };
    op->act = [](stream_operation* o, work_action) {
      auto* self = static_cast<wait_operation*>(o);
      self->~wait_operation();
      slab::free(self);
    };
    return op;
  }
};

}  // namespace

host_stream::host_stream(host_device& d, executor& pe, stream_priority p, std::string label)
    : stream(std::move(label)), device_(&d), pe_(&pe), owner_(pe.acting()), priority_(p) {
  turn_ = new (slab::allocate(sizeof(turn))) turn;
  turn_->owner = this;
  turn_->act = &host_stream::take_turn;
  turn_->set_priority(p == stream_priority::high ? priorities::communication : priority{priority::least_urgent});
}

host_stream::~host_stream() {
  while (first_ != nullptr) {
    stream_operation* op = first_;
    first_ = op->next;
    op->act(op, work_action::discard);
  }
  if (phase_ == phase::queued || phase_ == phase::stopped) {
    --pe_->operations;
    turn_->owner = nullptr;  // freed when its turn comes
  } else {
    slab::free(turn_);
  }
}

void host_stream::arrive(device& here) {
  device_ = static_cast<host_device*>(&here);
  pe_ = &device_->pe();
  owner_ = pe_->acting();
}

void host_stream::take_turn(work* w, work_action action) {
  auto* t = static_cast<turn*>(w);
  if (t->owner == nullptr) {
    slab::free(t);
  } else if (action == work_action::run) {
    t->owner->advance();
  } else {
    t->owner->phase_ = phase::empty;
    --t->owner->pe_->operations;
  }
}

void host_stream::enqueue(stream_operation* op) {
  op->next = nullptr;
  (last_ != nullptr ? last_->next : first_) = op;
  last_ = op;
  if (phase_ != phase::empty) return;
  ++pe_->operations;
  if (priority_ == stream_priority::high && !pe_->has_schedule_seed()) {
    advance();
  } else {
    queue();
  }
}

bool host_stream::may_still_write() const {
  if (phase_ == phase::running) return true;
  for (const stream_operation* op = first_; op != nullptr; op = op->next) {
    if (!op->only_reads) return true;
  }
  return false;
}

void host_stream::queue() {
  phase_ = phase::queued;
  pe_->post(turn_);
}

void host_stream::perform(stream_operation* op) {
  const actor_turn of_owner(*pe_, owner_);
  stream::perform(*pe_, op);
}

void host_stream::advance() {
  phase_ = phase::running;
  bool has_computed = false;
  while (first_ != nullptr) {
    stream_operation* op = first_;
    if (op->ready != nullptr && !op->ready(op)) {
      auto& point = static_cast<host_event&>(*static_cast<wait_operation*>(op)->point);
      phase_ = phase::stopped;
      if (point.stop(pe_, turn_)) return;
      phase_ = phase::running;
    }
    first_ = op->next;
    if (first_ == nullptr) last_ = nullptr;
    has_computed |= op->is_kernel && priority_ == stream_priority::low;
    trace_track* const track = op->is_kernel ? pe_->track : nullptr;
    if (track != nullptr) [[unlikely]]
      track->begin(op->name, trace_category::kernel);
    perform(op);
    if (track != nullptr) [[unlikely]]
      track->end();
    // With a seed other streams go in between: a missing `after` shows.
    if (first_ != nullptr && ((has_computed && first_->is_kernel) || pe_->has_schedule_seed())) {
      queue();
      return;
    }
  }
  phase_ = phase::empty;
  --pe_->operations;
}

void host_stream::copy(void* to, const void* from, std::size_t bytes) {
  then("copy", [to, from, bytes] {
    if (bytes > 0) std::memcpy(to, from, bytes);
  });
}

void host_stream::copy_rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t bytes,
                            std::size_t num_rows) {
  then("copy", [=] {
    for (std::size_t i = 0; i < num_rows; ++i) {
      std::memcpy(static_cast<std::byte*>(to) + i * to_pitch, static_cast<const std::byte*>(from) + i * from_pitch,
                  bytes);
    }
  });
}

void host_stream::fill(void* to, unsigned char value, std::size_t bytes) {
  then("fill", [to, value, bytes] {
    if (bytes > 0) std::memset(to, value, bytes);
  });
}

event host_stream::record() {
  if (phase_ == phase::empty) return event();  // already past it
  auto point = std::make_shared<host_event>();
  enqueue(record_operation::make(point));
  return event(std::move(point));
}

void host_stream::wait(const event& e) {
  if (e.complete()) return;
  if (dynamic_cast<const host_event*>(e.state().get()) == nullptr) {
    throw usage_error(label() + " of the host device cannot wait for a GPU: await `done()` of the GPU's stream first");
  }
  enqueue(wait_operation::make(e.state()));
}

}  // namespace imbrex
