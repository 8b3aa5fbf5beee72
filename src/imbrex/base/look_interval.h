#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace imbrex {

/// How many pieces of work to do between two looks at something that a look costs: the network, the clock. So many that
/// about `target_cycles` (of `cycle_count`) pass in between, found from how long the last ones took; never more than
/// `most`. Begins with one. One thread.
class look_interval {
 public:
  constexpr look_interval(std::uint64_t target_cycles, unsigned most) : target_(target_cycles), most_(most) {}

  /// What comes is measured from here: nothing was done before, or by others.
  void begin(std::uint64_t now) {
    last_ = now;
    num_done_ = 0;
  }
  /// After each piece: whether to look, and to say `looked`.
  bool is_due() { return ++num_done_ >= interval_; }
  void looked(std::uint64_t now) {
    const std::uint64_t took = now - std::exchange(last_, now);
    const unsigned done = std::exchange(num_done_, 0);
    if (took > target_) {
      interval_ = std::max(1U, static_cast<unsigned>(done * target_ / took));
    } else if (took < target_ / 2) {
      interval_ = std::min(2 * interval_, most_);
    }
  }
  unsigned pieces() const { return interval_; }

 private:
  std::uint64_t target_;
  unsigned most_;
  unsigned interval_ = 1;
  unsigned num_done_ = 0;
  std::uint64_t last_ = 0;
};

}  // namespace imbrex
