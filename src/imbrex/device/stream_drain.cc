#include "imbrex/device/stream_drain.h"

#include <algorithm>
#include <utility>

#include "imbrex/async/executor.h"

namespace imbrex {

bool all_idle(std::span<stream* const> streams) {
  return std::ranges::all_of(streams, [](const stream* s) { return s->idle(); });
}

/// Lives until neither its owner, nor a mark in a stream, nor the PE's queue knows it.
struct stream_drain::state : work {
  std::vector<stream*> streams;
  std::function<void()> done;
  stream_drain* owner = nullptr;  // null: called off
  executor* home = nullptr;
  int references = 0;
  int marks_left = 0;

  /// Stands in a stream after what was enqueued there.
  struct mark {
    explicit mark(state* s) : of(s) { ++of->references; }
    mark(mark&& other) noexcept : of(std::exchange(other.of, nullptr)) {}
    mark& operator=(mark&&) = delete;
    ~mark() {
      if (of != nullptr) of->release();
    }
    void operator()() const { of->one_is_passed(); }
    state* of;
  };

  void release() {
    if (--references == 0) delete this;
  }

  void look_again() {
    marks_left = 1;
    for (stream* s : streams) {
      if (s->idle()) continue;
      ++marks_left;
      s->then("drained", mark(this));
    }
    one_is_passed();
  }

  void one_is_passed() {
    if (--marks_left > 0 || owner == nullptr) return;
    ++references;
    home->post(this);
  }

  static void take_turn(work* w, work_action action) {
    auto* const self = static_cast<state*>(w);
    if (action == work_action::run && self->owner != nullptr) self->finish();
    self->release();
  }

  void finish() {
    if (!all_idle(streams)) return look_again();
    const std::function<void()> call = std::move(done);
    std::exchange(owner, nullptr)->state_ = nullptr;
    // What it sends is counted before this is counted no more: quiescence sees no gap.
    call();
    --home->operations;
    release();
  }
};

stream_drain::stream_drain(std::vector<stream*> streams, std::function<void()> done) : state_(new state) {
  state_->act = &state::take_turn;
  state_->set_priority(priorities::communication);
  state_->streams = std::move(streams);
  state_->done = std::move(done);
  state_->owner = this;
  state_->home = executor::current();
  state_->references = 1;
  ++state_->home->operations;
  state_->look_again();
}

stream_drain::~stream_drain() { call_off(); }

stream_drain::stream_drain(stream_drain&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {
  if (state_ != nullptr) state_->owner = this;
}

stream_drain& stream_drain::operator=(stream_drain&& other) noexcept {
  if (this == &other) return *this;
  call_off();
  state_ = std::exchange(other.state_, nullptr);
  if (state_ != nullptr) state_->owner = this;
  return *this;
}

void stream_drain::call_off() noexcept {
  state* const s = std::exchange(state_, nullptr);
  if (s == nullptr) return;
  s->owner = nullptr;
  --s->home->operations;
  s->release();
}

}  // namespace imbrex
