#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "imbrex/base/ids.h"

namespace imbrex::detail {

/// The ranks that have an object's newest version besides its owner, in the order in which tasks have asked for it: the
/// same on all ranks. They pass it on, each to a few, so that nobody sends it to all: a tree. A word where there never
/// was one.
class holders {
 public:
  static constexpr std::size_t fanout = 4;

  bool has(rank_id r) const { return list_ != nullptr && list_->has(r); }
  /// One that has not.
  void add(rank_id r) {
    if (list_ == nullptr) list_ = std::make_unique<list>();
    list_->add(r);
  }
  void clear() {
    if (list_ != nullptr) list_->clear();
  }
  /// Who sends it to the one that is added next.
  rank_id next_sender(rank_id owner) const {
    const std::size_t before = list_ != nullptr ? list_->ranks.size() / fanout : 0;
    return before == 0 ? owner : list_->ranks[before - 1];
  }

 private:
  struct list {
    static constexpr std::size_t few = 16;  // as long as a look at all of them costs little

    bool has(rank_id r) const {
      if (bits.empty()) return std::ranges::find(ranks, r) != ranks.end();
      return word(r) < bits.size() && (bits[word(r)] >> bit(r) & 1) != 0;
    }
    void add(rank_id r) {
      ranks.push_back(r);
      if (ranks.size() == few) {
        for (const rank_id each : ranks) mark(each);
      } else if (ranks.size() > few) {
        mark(r);
      }
    }
    void clear() {
      ranks.clear();
      bits.clear();
    }
    static std::size_t word(rank_id r) { return static_cast<std::size_t>(r) / 64; }
    static unsigned bit(rank_id r) { return static_cast<unsigned>(r) % 64; }
    void mark(rank_id r) {
      if (word(r) >= bits.size()) bits.resize(word(r) + 1);
      bits[word(r)] |= std::uint64_t{1} << bit(r);
    }

    std::vector<rank_id> ranks;
    std::vector<std::uint64_t> bits;  // by rank; only of many
  };
  std::unique_ptr<list> list_;
};

}  // namespace imbrex::detail
