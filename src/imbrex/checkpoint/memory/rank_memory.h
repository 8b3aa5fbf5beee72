#pragma once

#include <cstdint>
#include <vector>

#include "imbrex/checkpoint/memory/image_contents.h"
#include "imbrex/checkpoint/memory/memory_store.h"
#include "imbrex/checkpoint/memory/recovery_plan.h"
#include "imbrex/comm/transport.h"

namespace imbrex {

/// What a rank has of checkpoints in memory while a job goes on in several runs, each with the ranks that are left, and
/// what the ranks have agreed on about it. The store's rules hold for all of it.
struct rank_memory {
  int group_size = 8;
  int num_parity = 1;
  memory_store store;

  /// \name Of this run
  ///@{
  int num_runs = 0;                               ///< that have begun, this one among them
  std::vector<int> host_of_rank;                  ///< equal numbers: the same host
  recovery_plan plan;                             ///< what it begins with
  std::vector<image_contents> own_contents;       ///< of the parts that this rank has
  std::vector<image_contents> contents;           ///< by rank of the job that made it
  std::vector<std::vector<record_view>> records;  ///< of these
  ///@}
  int next_pes = 0;                ///< of each rank, from the next run on; 0: as many as now
  int num_ranks_before = 0;        ///< of the run before
  int num_replaced = 0;            ///< of them, by ranks that had been spare ones
  std::int64_t stopped_at_ns = 0;  ///< when the run before was to end; by this machine's clock

  /// A run begins: the ranks tell each other what they have. Collective. Parts of other checkpoints than the one that
  /// they begin with are dropped. `t`: null with one rank.
  void begin_run(transport* t, std::vector<int> hosts);
  /// Of a job with spare ranks, before each run but the first: what ranks know that have been there tells those that
  /// have not. Collective.
  void share_with_new_ranks(transport& t);
  /// All PEs have read what they wanted of what the run began with.
  void forget_contents();
  /// The group of that rank, with its places for parity; without the lengths.
  parity_layout group_of(std::int32_t rank) const;
};

}  // namespace imbrex
