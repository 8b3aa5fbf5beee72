#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace imbrex {

/// One record of a checkpoint as its index knows it. `key` lies in the memory of the reader that gave it.
struct record_view {
  std::uint32_t kind = 0;
  std::int32_t file = 0;     ///< the rank that wrote it
  std::uint64_t bytes = 0;   ///< of the payload
  std::uint64_t offset = 0;  ///< of the payload in the file
  std::uint32_t crc = 0;
  std::span<const std::byte> key;
};

/// What the end of a rank's part says of its index.
struct index_facts {
  std::int32_t rank = 0;
  std::uint64_t num_records = 0;
  std::uint64_t end_of_payloads = 0;
  std::string file;  ///< for messages
};

/// The records of an index, in the order of writing; their keys lie in `index`. Throws `snapshot_error` where it names
/// what cannot be.
std::vector<record_view> records_of_index(std::span<const std::byte> index, const index_facts& facts);

/// Throws `snapshot_error` unless `crc`, of kind, key and payload, is what was written.
void check_record_crc(const record_view& record, std::uint32_t crc, const std::string& file);
/// The same of a payload that is in memory.
void check_payload(const record_view& record, std::span<const std::byte> payload, const std::string& file);

}  // namespace imbrex
