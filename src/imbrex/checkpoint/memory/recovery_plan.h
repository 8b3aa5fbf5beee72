#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "imbrex/checkpoint/memory/memory_store.h"

namespace imbrex {

/// From which checkpoint in memory the ranks that are left go on, and who has what of it.
struct recovery_plan {
  /// Of one rank of the job that made it.
  struct part {
    std::int32_t keeper = -1;  ///< rank of today that has it, or restores it
    bool is_lost = false;      ///< it has to be restored
    memory_part_facts group;   ///< as a member of its group tells it
    rank_file_facts file;
  };
  std::uint64_t number = 0;  ///< 0: none can be restored
  std::uint64_t made_ago_ns = 0;
  snapshot_facts facts;
  std::vector<part> parts;             ///< by rank of that job
  std::vector<std::int32_t> rank_now;  ///< of a rank of that job; -1: it is lost
  std::string why_not;                 ///< where there is none though ranks have parts of some

  /// Rank of today that keeps a member of a group; -1: it is lost.
  std::int32_t now(std::int32_t rank) const { return rank_now.at(static_cast<std::size_t>(rank)); }
};

/// From what all ranks of today have, by rank: the newest checkpoint that can be restored. It is the same on each rank.
recovery_plan plan_recovery(const std::vector<std::vector<memory_part_facts>>& of_ranks);

}  // namespace imbrex
