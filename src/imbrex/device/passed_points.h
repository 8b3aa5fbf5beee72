#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "imbrex/device/event.h"

namespace imbrex {

/// Which points of other streams a stream comes after, as far as it remembers: to wait once more for one of them, or
/// for one before it in its stream, would change nothing. Chares that exchange data with a few others wait for each
/// stream twice an iteration, for its data and for what it has read.
class passed_points {
 public:
  bool include(const stream_position& p) const {
    const stream_position& last = last_[p.stream % num_remembered];
    return p.stream != 0 && last.stream == p.stream && p.at <= last.at;
  }
  void add(const stream_position& p) {
    stream_position& last = last_[p.stream % num_remembered];
    last = last.stream == p.stream ? stream_position{p.stream, std::max(p.at, last.at)} : p;
  }
  void forget() { last_ = {}; }

 private:
  static constexpr std::size_t num_remembered = 32;  // a block of a grid has up to 26 neighbours
  std::array<stream_position, num_remembered> last_{};
};

}  // namespace imbrex
