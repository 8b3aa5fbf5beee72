#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "imbrex/balance/balance_problem.h"

namespace imbrex::detail {

/// How much an element exchanges with the elements of which PE.
class partner_bytes {
 public:
  using entry = std::pair<int, double>;  // PE and bytes
  /// By PE. Valid until the next call.
  const std::vector<entry>& of(const communication_graph& g, int element, std::span<const int> placement) {
    const auto i = static_cast<std::size_t>(element);
    entries_.clear();
    for (std::size_t k = g.first[i]; k < g.first[i + 1]; ++k)
      entries_.emplace_back(placement[static_cast<std::size_t>(g.partner[k])], g.bytes[k]);
    std::ranges::sort(entries_);
    std::size_t num = 0;
    for (std::size_t k = 0; k < entries_.size(); ++k) {
      if (num > 0 && entries_[num - 1].first == entries_[k].first)
        entries_[num - 1].second += entries_[k].second;
      else
        entries_[num++] = entries_[k];
    }
    entries_.resize(num);
    return entries_;
  }

 private:
  std::vector<entry> entries_;
};

}  // namespace imbrex::detail
