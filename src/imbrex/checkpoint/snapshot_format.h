#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// The bytes of a checkpoint's files; docs/checkpoints.md draws them. Numbers are in the writing machine's order. The
/// first 32 bytes of a file, `snapshot_head`, mean the same in all versions; what follows may change with the version.
namespace imbrex {

inline constexpr std::uint32_t snapshot_version = 3;  // 2: arrays have names; 3: states say of which types they are

enum class snapshot_part { manifest, rank_file };

/// Begins every file.
struct snapshot_head {
  std::array<char, 8> magic;
  std::uint32_t byte_order;
  std::uint32_t version;
  std::uint64_t number;    ///< of a manifest: bytes that follow; of a rank's file: the rank
  std::uint32_t body_crc;  ///< of a manifest: of what follows; of a rank's file: 0
  std::uint32_t head_crc;  ///< of the bytes before
};
static_assert(sizeof(snapshot_head) == 32);

snapshot_head make_head(snapshot_part part, std::uint64_t number, std::uint32_t body_crc);

/// Throws `snapshot_error` about the file unless this is the head of such a part, unchanged, and its version and byte
/// order are this program's.
void check_head(const snapshot_head& head, snapshot_part part, const std::string& file);

/// Ends a rank's file; before it lies the index, before that the payloads, one behind the other.
struct index_footer {
  std::array<char, 8> magic;
  std::uint64_t index_offset;
  std::uint64_t index_bytes;
  std::uint64_t num_records;
  std::uint32_t index_crc;
  std::uint32_t footer_crc;  ///< of the bytes before
};
static_assert(sizeof(index_footer) == 40);

index_footer make_footer(std::uint64_t index_offset, std::uint64_t index_bytes, std::uint64_t num_records,
                         std::uint32_t index_crc);

/// Whether these bytes are a footer, unchanged.
bool is_footer(const index_footer& footer);

/// One record in the index, followed by its key.
struct index_entry {
  std::uint64_t offset;  ///< of the payload in the file
  std::uint64_t bytes;   ///< of the payload
  std::uint32_t kind;
  std::uint32_t crc;  ///< see `record_crc`
  std::uint64_t key_bytes;
};
static_assert(sizeof(index_entry) == 32);

/// The checksum of a record before the first byte of its payload, which carries it on: kind and key are part of it, so
/// that a payload is not taken for another one.
std::uint32_t record_crc(std::uint32_t kind, std::span<const std::byte> key);

}  // namespace imbrex
