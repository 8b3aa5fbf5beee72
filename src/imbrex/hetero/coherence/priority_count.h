#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace imbrex {

/// How many of what is under way have which priority. A step takes as long as there are different ones.
class priority_count {
 public:
  void add(int priority) {
    const auto at = find(priority);
    if (at != counts_.end() && at->priority == priority) {
      ++at->number;
    } else {
      counts_.insert(at, {priority, 1});
    }
  }
  /// Of one that was added.
  void remove(int priority) {
    const auto at = find(priority);
    if (--at->number == 0) counts_.erase(at);
  }
  /// Whether something is less urgent.
  bool has_below(int priority) const { return !counts_.empty() && counts_.front().priority < priority; }

 private:
  struct count {
    int priority;
    std::uint64_t number;
  };
  std::vector<count>::iterator find(int priority) {
    return std::ranges::find_if(counts_, [&](const count& c) { return c.priority >= priority; });
  }

  std::vector<count> counts_;  // the least urgent first
};

}  // namespace imbrex
