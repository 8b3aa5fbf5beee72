#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace imbrex {

/// Something that one transfer uses at a time, for as long as its bytes take there: whoever comes first. What will come
/// later does not keep it from what fits in before.
class shared_line {
 public:
  /// When it could be had for so long, not before `earliest`.
  std::int64_t free_at(std::int64_t earliest, std::int64_t ns) const {
    for (const span& s : busy_) {
      if (s.from >= earliest + ns) return earliest;
      earliest = std::max(earliest, s.to);
    }
    return earliest;
  }
  /// When nothing is left to do.
  std::int64_t done_at() const { return busy_.empty() ? 0 : busy_.back().to; }

  /// From then on, when it is free; `now`: nobody asks for times before it any more.
  void use(std::int64_t from, std::int64_t ns, std::int64_t now) {
    if (ns <= 0) return;
    std::erase_if(busy_, [now](const span& s) { return s.to < now; });
    auto next = std::ranges::find_if(busy_, [from](const span& s) { return s.to >= from; });
    const std::int64_t to = from + ns;
    if (next == busy_.end() || next->from > to) {
      busy_.insert(next, {from, to});
      return;
    }
    // It adjoins the one before, the one behind, or both.
    next->from = std::min(next->from, from);
    next->to = std::max(next->to, to);
    if (const auto behind = next + 1; behind != busy_.end() && behind->from <= next->to) {
      next->to = behind->to;
      busy_.erase(behind);
    }
  }

 private:
  struct span {
    std::int64_t from, to;
  };
  std::vector<span> busy_;  // by time, apart
};

}  // namespace imbrex
