#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbrex/device/rounds/recorded_rounds.h"

namespace imbrex {

/// Recorded rounds, one after the other, as operations that come after others.
class round_nodes {
 public:
  struct node {
    const kept_operation* what;
    const stream_rounds* in;
    std::vector<std::uint32_t> after;  ///< distinct
    std::uint32_t depth = 0;           ///< the most that come before it one after another
  };
  /// `order[i]`: which of the recorded rounds the i-th one is. Throws `usage_error` when some wait for each other.
  round_nodes(const recorded_rounds& r, const std::vector<std::size_t>& order);

  const std::vector<node>& all() const { return nodes_; }
  /// Their numbers, each after those that it comes after.
  const std::vector<std::uint32_t>& sorted() const { return sorted_; }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;

  std::uint32_t before(std::size_t stream, std::size_t round, std::size_t num_before) const;
  void add(std::size_t stream, std::size_t round);
  void sort();

  const recorded_rounds& rounds_;
  const std::vector<std::size_t>& order_;
  std::vector<std::vector<std::uint32_t>> first_;  // of a stream and round, the number of its first node; and the end
  std::vector<std::uint32_t> carried_;             // what was waited for after the last operation of the round before
  std::vector<node> nodes_;
  std::vector<std::uint32_t> sorted_;
};

}  // namespace imbrex
