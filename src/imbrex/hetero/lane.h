#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "imbrex/device/device.h"

namespace imbrex {

class lane;

/// A point in a lane: after what it was given as `number`-th. One without a lane is long past.
struct lane_point {
  lane* of = nullptr;
  std::uint64_t number = 0;

  bool reached() const;
};

/// Something to be told when a lane has come to a point, or that it never will: the lane is abandoned. Lives until
/// then. Every task has one: it takes three words.
struct lane_wait {
  static constexpr std::uint64_t never = ~std::uint64_t{0};

  std::uint64_t number = 0;
  lane_wait* next = nullptr;
  void (*reached)(lane_wait*) = nullptr;

  bool is_abandoned() const { return number == never; }
};

/// A stream whose operations are counted, so that a point in it costs nothing unless somebody asks for it: an event is
/// recorded when a stream of another lane has to wait, and the host is told of many operations at once (`flush`). For
/// the stream's PE.
class lane {
 public:
  /// `index` tells the lanes of a domain apart. Who waits for a point in a lane that keeps its points waits for that
  /// point; else for all that the lane has been given by then, which costs less: an event for those that are asked for.
  lane(std::unique_ptr<stream> s, int index, bool keeps_points = false)
      : stream_(std::move(s)), index_(index), keeps_points_(keeps_points) {}
  ~lane() {
    if (alive_ != nullptr) *alive_ = false;
  }
  lane(const lane&) = delete;
  lane& operator=(const lane&) = delete;

  stream& operator*() const { return *stream_; }
  stream* operator->() const { return stream_.get(); }
  int index() const { return index_; }

  /// Something has been enqueued; gives the point after it.
  lane_point put() {
    ++issued_;
    if (keeps_points_) points_.push_back({issued_, stream_->record()});
    return {this, issued_};
  }
  /// The point after all that was enqueued.
  lane_point end() { return {this, issued_}; }
  bool reached(std::uint64_t number) const { return completed_ >= number; }
  bool idle() const { return completed_ == issued_; }
  std::uint64_t num_issued() const { return issued_; }
  std::uint64_t num_under_way() const { return issued_ - completed_; }
  /// Points that may still be waited for by themselves.
  std::size_t num_points() const { return points_.size(); }

  /// Whether `wait` works, which is not so between devices of different kinds: then the host has to.
  bool can_wait_for(const lane& other) const { return stream_->on().kind() == other.stream_->on().kind(); }
  /// What is enqueued from now on runs after `p`. No host waits.
  void wait(const lane_point& p);

  /// Calls `a->reached` when the point has been reached, from `flush` or from the PE's loop.
  void when_reached(std::uint64_t number, lane_wait* a);
  /// Makes sure that the PE learns of all that has been enqueued.
  void flush();
  /// At the end of the domain, while its tasks are still there: the stream ends, all points count as reached, and who
  /// waits for one is told. Nothing is enqueued any more.
  void abandon();
  /// What to call after points have been reached: there may be more to do.
  void on_progress(void (*f)(void*), void* argument) {
    progress_ = f;
    progress_argument_ = argument;
  }

 private:
  struct kept_point {
    std::uint64_t number;
    event at;
  };
  void reach(std::uint64_t number);

  std::unique_ptr<stream> stream_;
  const int index_;
  const bool keeps_points_;
  std::deque<kept_point> points_;  // of what is under way
  std::uint64_t issued_ = 0, flushed_ = 0, completed_ = 0;
  std::vector<std::uint64_t> waited_;  // by the other lane's index: up to where this one waits for it anyway
  lane_wait* first_ = nullptr;         // by number
  lane_wait* last_ = nullptr;
  void (*progress_)(void*) = nullptr;
  void* progress_argument_ = nullptr;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

inline bool lane_point::reached() const { return of == nullptr || of->reached(number); }

}  // namespace imbrex
