#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "imbrex/base/ids.h"

namespace imbrex {

/// When a checkpoint of one kind is due: at each so-manieth point of an array, or at the first after so long. On PE 0.
class point_schedule {
 public:
  point_schedule(bool is_on, std::int64_t every_ns, std::uint32_t every_points, std::int64_t now_ns)
      : is_on_(is_on), every_ns_(every_ns), every_points_(every_points), last_ns_(now_ns) {}

  bool is_on() const { return is_on_; }
  /// A point of that array (of none: the program's own) has been reached; whether one is due.
  bool is_due_at(collection_id array, std::int64_t now_ns) {
    if (!is_on_) return false;
    auto known = std::ranges::find_if(passed_, [&](const passed& q) { return q.array == array; });
    if (known == passed_.end()) known = passed_.insert(passed_.end(), {array});
    ++known->times;
    return (every_points_ > 0 && known->times >= every_points_) || (every_ns_ > 0 && now_ns - last_ns_ >= every_ns_);
  }
  /// One has been taken.
  void taken() { passed_.clear(); }
  /// It has been made, or not; the next one is due so long after.
  void made(std::int64_t now_ns) { last_ns_ = now_ns; }

 private:
  struct passed {
    collection_id array;
    std::uint32_t times = 0;
  };
  bool is_on_;
  std::int64_t every_ns_;
  std::uint32_t every_points_;
  std::int64_t last_ns_;
  std::vector<passed> passed_;  // since the last one
};

}  // namespace imbrex
