#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "imbrex/checkpoint/manifest.h"
#include "imbrex/checkpoint/snapshot_error.h"
#include "imbrex/checkpoint/snapshot_reader.h"

/// A folder of checkpoints, called `base` here: `<base>/000012` is a checkpoint, `<base>/.000013.partial` one that is
/// being written or removed, or what a crash left of that. All of this may be called while others read and one job
/// writes. Errors: `snapshot_error`.
namespace imbrex {

std::string checkpoint_path(const std::string& base, std::uint64_t number);
std::string partial_path(const std::string& base, std::uint64_t number);

/// Numbers of the checkpoints in the folder, whole or not, the newest first. None where there is no such folder.
std::vector<std::uint64_t> checkpoint_numbers(const std::string& base);

/// One of a folder's checkpoints.
struct listed_checkpoint {
  std::string path;
  std::optional<snapshot_manifest> about;   ///< where the manifest can be read
  std::optional<snapshot_error> complaint;  ///< why it is not whole; none: it is
};

/// All of them, the newest first. Partial ones are passed over.
std::vector<listed_checkpoint> list_checkpoints(const std::string& base, const snapshot_checks& checks = {});

/// Where to restart from.
struct latest_checkpoint {
  std::string path;                     ///< the newest whole one; empty: there is none
  std::vector<snapshot_error> skipped;  ///< what is wrong with those that are newer, the newest first
};

/// An error only where `base` is no folder or cannot be read.
latest_checkpoint find_latest(const std::string& base, const snapshot_checks& checks = {});

/// Throws unless the folder has a manifest, saying what the folder is instead.
void check_is_checkpoint(const std::string& folder);

/// The same error with what can be done about it: the newest other checkpoint beside `checkpoint` that is whole, and
/// of the program if one is given, or that there is none.
snapshot_error with_remedy(const snapshot_error& error, const std::string& checkpoint,
                           const std::optional<std::uint64_t>& program);

/// Removes what is older than the newest `n` (1 at least) that are there in full length; broken ones do not count. What
/// cannot be removed is a warning in the log.
void keep_last(const std::string& base, int n);

/// Removes what crashes left in the middle of writing or removing. Only while no other job writes there.
void remove_partial(const std::string& base);

}  // namespace imbrex
