#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "imbrex/checkpoint/manifest.h"
#include "imbrex/checkpoint/memory/parity_layout.h"

/// What a rank keeps of checkpoints in memory.
namespace imbrex {

/// What is to be known of it by others, who may have to restore what it had.
struct memory_part_facts {
  std::uint64_t number = 0;            ///< of the checkpoint
  std::int32_t rank = 0;               ///< that this was when it was made
  std::uint64_t made_ago_ns = 0;       ///< by this machine's clock
  snapshot_facts facts;                ///< of the job as it was
  parity_layout layout;                ///< of its group
  std::vector<rank_file_facts> files;  ///< of the group's members, in their order

  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & rank & made_ago_ns & facts & layout & files;
  }
};

/// One rank's part of one checkpoint.
struct memory_part {
  memory_part_facts about;
  std::int64_t made_at_ns = 0;
  bool is_whole = false;                       ///< what is below is all there; a part that is not is of no use
  std::vector<std::byte> image;                ///< what its file would have
  std::vector<std::vector<std::byte>> parity;  ///< of others' parts (`parity_layout`)
  std::map<std::int32_t, std::vector<std::byte>> restored;  ///< images of lost ranks

  /// The image of that rank, which is this one's or has been restored here; null: it is not here.
  const std::vector<std::byte>* image_of(std::int32_t rank) const;
};

/// All that a rank keeps. One is committed; while the next one is made there are two. Changed by the rank's first PE
/// alone, and read by the others after that has told them.
class memory_store {
 public:
  /// A new part, in memory that an older one had; it is not whole yet. The committed one stays.
  memory_part& begin(std::uint64_t number);
  /// Null: there is none of that number.
  memory_part* find(std::uint64_t number);
  std::uint64_t largest_number() const;
  /// All ranks have it: older ones may go.
  void commit(std::uint64_t number);
  /// It is not made after all.
  void drop(std::uint64_t number);
  /// Of those that are whole.
  std::vector<memory_part_facts> facts(std::int64_t now_ns) const;
  /// Parts of others, whole or not, are gone.
  void keep_only(std::uint64_t number);

 private:
  std::vector<memory_part> parts_;
  memory_part spare_;  // whose memory is used again
};

}  // namespace imbrex
