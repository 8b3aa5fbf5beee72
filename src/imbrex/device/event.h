#pragma once

#include <memory>
#include <utility>

namespace imbrex {

/// What a device keeps of a recorded point in a stream.
struct event_state {
  virtual ~event_state() = default;
  /// Whether all that was enqueued before the point has finished. Any thread.
  virtual bool complete() const = 0;
};

/// A point in a stream, made by `stream::record`; others wait for it by `stream::wait`. A value: copies mean the same
/// point. A default-constructed one is complete.
class event {
 public:
  event() = default;
  explicit event(std::shared_ptr<event_state> s) : state_(std::move(s)) {}
  bool complete() const { return state_ == nullptr || state_->complete(); }
  const std::shared_ptr<event_state>& state() const { return state_; }

 private:
  std::shared_ptr<event_state> state_;
};

}  // namespace imbrex
