#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// How the ranks of a group keep each other's parts of a checkpoint: as parity of blocks that lie on different ranks.
namespace imbrex {

/// Cuts the ranks into groups of about `size` (from there to twice as many; fewer only where there are fewer). Members
/// of a group are on different hosts as far as there are enough: with several hosts, groups are not larger than their
/// number. `host_of_rank`: equal numbers for ranks of one host. Members are in increasing order.
std::vector<std::vector<std::int32_t>> parity_groups(const std::vector<int>& host_of_rank, int size);

/// A group of g ranks with m parity blocks in each stripe, of which there are g. Rank at place p has one block of each
/// stripe s: with d = (p - s) mod g, parity block d where d < m, else data block d - m, which is that segment of its
/// own part. So it has m blocks of parity, its part is cut into g - m segments, and whichever m ranks are lost, each
/// stripe has lost m blocks. Two ranks with m = 1 have copies of each other.
struct parity_layout {
  std::vector<std::int32_t> members;  ///< ranks, in increasing order
  std::int32_t num_parity = 1;        ///< less than there are members; 0: a rank alone
  std::uint64_t segment_bytes = 0;

  int size() const { return static_cast<int>(members.size()); }
  int num_data() const { return size() - num_parity; }
  /// Of a member; -1: it is none.
  int place_of(std::int32_t rank) const;

  /// What the rank at that place has of a stripe: `segment` of its part, or, where that is negative, `parity`.
  struct block {
    int segment = -1;
    int parity = -1;
    int number = 0;  ///< in the stripe: data first
  };
  block block_of(int place, int stripe) const;
  int stripe_of_segment(int place, int segment) const { return wrapped(place - num_parity - segment); }
  int stripe_of_parity(int place, int parity) const { return wrapped(place - parity); }

  /// For members' parts of so many bytes.
  void fit(std::uint64_t largest_part);
  /// The bytes of a part of `part_bytes` that lie in `segment` from `offset` on, `bytes` at most: where they begin in
  /// it, and how many there are.
  struct range {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
  };
  range in_segment(int segment, std::uint64_t offset, std::uint64_t bytes, std::uint64_t part_bytes) const;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & members & num_parity & segment_bytes;
  }

 private:
  int wrapped(int i) const { return ((i % size()) + size()) % size(); }
};

}  // namespace imbrex
