#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace imbrex {

/// Values of ranges of bytes, which do not overlap: what was said last of a byte holds. Neighbours of equal value are
/// one range. Steps that grow with the logarithm of the number of ranges, and with those that a change covers.
template <class Value>
class range_map {
 public:
  bool empty() const { return ranges_.empty(); }
  std::size_t size() const { return ranges_.size(); }

  /// From `begin` up to `end`, which is more.
  void set(std::uint64_t begin, std::uint64_t end, Value value) {
    erase(begin, end);
    auto at = ranges_.emplace(begin, range{end, std::move(value)}).first;
    if (auto next = std::next(at); next != ranges_.end() && next->first == end && joins(*at, *next)) {
      at->second.end = next->second.end;
      ranges_.erase(next);
    }
    if (at == ranges_.begin()) return;
    if (auto before = std::prev(at); before->second.end == begin && joins(*before, *at)) {
      before->second.end = at->second.end;
      ranges_.erase(at);
    }
  }
  /// Nothing is said of these bytes any more.
  void erase(std::uint64_t begin, std::uint64_t end) {
    split(begin);
    split(end);
    ranges_.erase(ranges_.lower_bound(begin), ranges_.lower_bound(end));
  }
  void clear() { ranges_.clear(); }

  /// The first value of any of these bytes; null: nothing is said of them.
  const Value* find(std::uint64_t begin, std::uint64_t end) const {
    auto at = ranges_.upper_bound(begin);
    if (at != ranges_.begin() && std::prev(at)->second.end > begin) --at;
    return at != ranges_.end() && at->first < end ? &at->second.value : nullptr;
  }
  /// Whether one range, of one value, has all of these bytes.
  bool covers(std::uint64_t begin, std::uint64_t end) const {
    auto at = ranges_.upper_bound(begin);
    return at != ranges_.begin() && std::prev(at)->second.end >= end;
  }

 private:
  struct range {
    std::uint64_t end;
    Value value;
  };
  using entry = typename std::map<std::uint64_t, range>::value_type;
  static bool joins(const entry& a, const entry& b) { return a.second.value == b.second.value; }
  /// No range goes on across `at`.
  void split(std::uint64_t at) {
    auto before = ranges_.upper_bound(at);
    if (before == ranges_.begin()) return;
    --before;
    if (before->first == at || before->second.end <= at) return;
    ranges_.emplace(at, range{before->second.end, before->second.value});
    before->second.end = at;
  }

  std::map<std::uint64_t, range> ranges_;  // by their first byte
};

}  // namespace imbrex
