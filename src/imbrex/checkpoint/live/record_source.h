#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/checkpoint/manifest.h"
#include "imbrex/checkpoint/record_index.h"
#include "imbrex/object/collection/chare_pe.h"

namespace imbrex {

/// Where a checkpoint is that a job begins with: in a folder, or in the memory of ranks.
struct checkpoint_place {
  std::string folder;  ///< empty: in memory, the one that this run begins with

  template <class Archive>
  void serialize(Archive& ar) {
    ar & folder;
  }
};

/// The records of a checkpoint, as a PE reads them. Throws `snapshot_error`.
class record_source {
 public:
  virtual ~record_source() = default;

  /// Of the job that made it.
  virtual const snapshot_facts& facts() const = 0;
  /// By the ranks that wrote them.
  virtual int num_files() const = 0;
  virtual std::span<const record_view> records(int file) = 0;

  /// States of elements may be far away: when awaited these can be read, and those that were brought before cannot.
  virtual task<> bring(std::vector<record_view> those) = 0;
  /// Where it lies, for messages.
  virtual std::string place_of(const record_view& r) const = 0;
  /// A payload, checked; until the next `read` or `bring`.
  virtual std::span<const std::byte> read(const record_view& r) = 0;
};

/// On a PE that is to read it; in memory it has been made ready (`ready_memory`).
std::unique_ptr<record_source> open_records(chare_pe& pe, const checkpoint_place& from);

}  // namespace imbrex
