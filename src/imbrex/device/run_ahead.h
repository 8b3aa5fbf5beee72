#pragma once

#include <deque>
#include <memory>

#include "imbrex/async/completion.h"
#include "imbrex/device/stream.h"

namespace imbrex {

/// Bounds how far a coroutine enqueues ahead of a device, which would otherwise take all that memory and queues hold.
///
///     run_ahead ahead(8);
///     for (...) {
///       ... enqueue one step ...
///       co_await ahead.step(s);  // until all but the last 8 steps have finished on stream s
///     }
class run_ahead {
 public:
  explicit run_ahead(std::size_t limit) : limit_(limit) {}

  /// The end of a step: gives something to `co_await`. For the PE of the stream.
  [[nodiscard]] completion& step(stream& s) {
    auto point = std::make_shared<completion>();
    points_.push_back(point);
    s.then("step", [point] { point->set(); });
    if (points_.size() <= limit_) return *passed();
    awaited_ = std::move(points_.front());
    points_.pop_front();
    return *awaited_;
  }

 private:
  static completion* passed() {
    static completion c;
    static const bool once = (c.set(), true);
    static_cast<void>(once);
    return &c;
  }

  const std::size_t limit_;
  std::deque<std::shared_ptr<completion>> points_;
  std::shared_ptr<completion> awaited_;
};

}  // namespace imbrex
