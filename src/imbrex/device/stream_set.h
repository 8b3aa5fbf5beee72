#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/device/device.h"
#include "imbrex/device/stream_drain.h"

namespace imbrex {

/// The streams a chare has, as in Choi et al. 2022 (III-C): computation apart from what moves halos.
struct stream_set {
  /// `owner` is whom reports name: "block[0,1,0]".
  stream_set(device& d, const std::string& owner);
  stream_set(const stream_set&) = delete;
  stream_set& operator=(const stream_set&) = delete;

  /// Whether nothing is queued or under way on any of them, nothing holds them (`hold`), and nobody is still to be
  /// called, by the PE of the streams, that they are idle.
  bool idle() const { return held_ == 0 && waiting_.empty() && all_idle(each_); }
  /// Calls `f` once, from the PE's loop, when that is so: what is enqueued until then is waited for, too. Several are
  /// called in order, in one go. `f` may destroy this set; destroying it calls off what has not been called. For the
  /// PE of the streams; see `stream_drain`.
  void when_idle(std::function<void()> f);

  /// They are of no chare, or of one that takes the set along (`leave`, `arrive`).
  void follows_nobody() {
    for (stream* s : each_) s->follows_nobody();
  }
  /// \name They go to another PE of the process, idle: `leave` on the one, `arrive` on the other
  ///@{
  void leave();
  void arrive(device& here);
  ///@}

  /// \name Something will use the streams, later: until it lets go, `idle` is false and nobody is called
  ///@{
  void hold() { ++held_; }
  void let_go();
  ///@}

 private:
  void start();
  void drained();

  std::unique_ptr<stream> compute_, pack_, unpack_, to_host_, to_device_;
  std::array<stream*, 5> each_;
  int held_ = 0;
  std::vector<std::function<void()>> waiting_;
  stream_drain drain_;  // goes before the streams

 public:
  stream& compute = *compute_;
  stream& pack = *pack_;
  stream& unpack = *unpack_;
  stream& to_host = *to_host_;
  stream& to_device = *to_device_;
};

}  // namespace imbrex
