#pragma once

#include <cstdint>
#include <memory>
#include <utility>

namespace imbrex {

/// Where in which stream a point is. Of two of the same stream the later one is complete only if the earlier one is.
struct stream_position {
  std::uint64_t stream = 0;  ///< of this process; 0: that is not known, and the point is comparable with no other
  std::uint64_t at = 0;
};

/// What a device keeps of a recorded point in a stream.
struct event_state {
  event_state() = default;
  explicit event_state(stream_position p) : position(p) {}
  virtual ~event_state() = default;
  /// Whether all that was enqueued before the point has finished. Any thread.
  virtual bool complete() const = 0;
  const stream_position position;
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
