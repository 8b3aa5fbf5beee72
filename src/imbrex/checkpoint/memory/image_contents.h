#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "imbrex/checkpoint/record_index.h"

namespace imbrex {

/// What all ranks are told of a rank's part of a checkpoint in memory: its index, and the payloads of those records
/// that all of them read.
struct image_contents {
  std::int32_t rank = 0;  ///< that wrote it
  std::uint64_t num_records = 0;
  std::uint64_t end_of_payloads = 0;
  std::vector<std::byte> index;
  std::vector<std::vector<std::byte>> payloads;  ///< of the records that are told, in their order; else empty

  template <class Archive>
  void serialize(Archive& ar) {
    ar & rank & num_records & end_of_payloads & index & payloads;
  }
};

/// Of an image, which is checked but for the payloads. `is_told`: of records that everybody reads. Throws
/// `snapshot_error`.
image_contents contents_of(std::span<const std::byte> image, std::int32_t rank, std::uint32_t index_crc,
                           const std::function<bool(const record_view&)>& is_told);

/// For messages.
std::string image_name(std::int32_t rank);

/// The records of `c`, which outlives them.
std::vector<record_view> records_of(const image_contents& c);

}  // namespace imbrex
