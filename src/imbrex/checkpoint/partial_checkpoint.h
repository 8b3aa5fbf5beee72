#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "imbrex/checkpoint/manifest.h"

namespace imbrex {

/// The right to write checkpoints into a folder, which a job keeps from when it begins, or makes its first one there,
/// to its end, or its process's: another job's would take their place. File systems that cannot lock folders go
/// without.
class folder_claim {
 public:
  /// An empty `base`: none.
  explicit folder_claim(std::string base);
  ~folder_claim();
  folder_claim(const folder_claim&) = delete;
  folder_claim& operator=(const folder_claim&) = delete;

  /// False when another job has it. There is nothing to claim as long as there is no such folder.
  bool take();

 private:
  friend class partial_checkpoint;
  std::string base_;
  int descriptor_ = -1;
};

/// A checkpoint while it is written: rank 0's part. In order:
///
/// 1. rank 0 makes this, and then tells all ranks `folder()`;
/// 2. each rank writes its file there by a `snapshot_writer`, whose `finish` gives the facts that rank 0 collects;
/// 3. rank 0 calls `commit`.
///
/// Until `commit` has given the folder its name, the older checkpoints are all there; from then on the new one is, too,
/// and it is whole. That holds wherever the job or the machine stops. Errors: `snapshot_error`. One thread at a time.
class partial_checkpoint {
 public:
  /// Creates `base` where it is not there, removes what crashes left in it, and creates the partial folder of the
  /// number after the newest. The fault is `in_use` when another job is just writing into `base`, or has
  /// claimed it. `claim`: the job's own, if it has one, which is used where it is of that folder, and lives longer.
  explicit partial_checkpoint(std::string base, folder_claim* claim = nullptr);
  /// Removes the folder and what is in it unless it was committed.
  ~partial_checkpoint();
  partial_checkpoint(const partial_checkpoint&) = delete;
  partial_checkpoint& operator=(const partial_checkpoint&) = delete;

  const std::string& folder() const { return folder_; }
  std::uint64_t number() const { return number_; }

  /// Makes it a checkpoint and removes all but the newest `keep` of `base`; returns its path. `files` are those of all
  /// ranks, in any order. Blocks until all is on the disk.
  std::string commit(const snapshot_facts& facts, std::vector<rank_file_facts> files, int keep = 2);

 private:
  void lock(folder_claim* claim);

  std::string base_;
  int lock_ = -1;
  std::uint64_t number_ = 0;
  std::string folder_;
  bool is_committed_ = false;
};

/// Whether a folder for checkpoints can be there, as far as that shows without making it; throws the `snapshot_error`
/// that making a checkpoint would end with hours later.
void check_checkpoint_base(const std::string& base);

}  // namespace imbrex
