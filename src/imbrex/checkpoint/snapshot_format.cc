#include "imbrex/checkpoint/snapshot_format.h"

#include <fmt/format.h>

#include "imbrex/checkpoint/crc32.h"
#include "imbrex/checkpoint/snapshot_error.h"

namespace imbrex {

namespace {

constexpr std::uint32_t own_byte_order = 0x01020304;
constexpr std::uint32_t other_byte_order = 0x04030201;
constexpr std::array<char, 8> footer_magic{'i', 'm', 'b', 'r', 'e', 'x', '-', 'i'};

constexpr std::array<char, 8> magic_of(snapshot_part part) {
  return {'i', 'm', 'b', 'r', 'e', 'x', '-', part == snapshot_part::manifest ? 'm' : 'r'};
}

// Of all but the last four bytes, which hold it.
template <class T>
std::uint32_t crc_before_end(const T& value) {
  return crc32(0, std::as_bytes(std::span(&value, 1)).first(sizeof(T) - sizeof(std::uint32_t)));
}

}  // namespace

snapshot_head make_head(snapshot_part part, std::uint64_t number, std::uint32_t body_crc) {
  snapshot_head head{magic_of(part), own_byte_order, snapshot_version, number, body_crc, 0};
  head.head_crc = crc_before_end(head);
  return head;
}

void check_head(const snapshot_head& head, snapshot_part part, const std::string& file) {
  const bool of_manifest = part == snapshot_part::manifest;
  const auto damaged = of_manifest ? snapshot_fault::damaged_manifest : snapshot_fault::damaged_index;
  if (head.magic != magic_of(part)) {
    throw snapshot_error(damaged, file,
                         of_manifest ? "does not begin as a manifest" : "does not begin as a rank's file");
  }
  if (head.byte_order == other_byte_order) {
    throw snapshot_error(snapshot_fault::other_byte_order, file, "was written by a machine of the other byte order",
                         "restart on a machine like the one that wrote it");
  }
  if (head.head_crc != crc_before_end(head)) {
    throw snapshot_error(damaged, file, "is damaged in its first 32 bytes (their checksum differs)");
  }
  if (head.version != snapshot_version) {
    throw snapshot_error(
        snapshot_fault::other_version, file,
        fmt::format("has version {} of the format, this imbrex reads {}", head.version, snapshot_version),
        "restart with a program built with the imbrex that wrote it");
  }
}

index_footer make_footer(std::uint64_t index_offset, std::uint64_t index_bytes, std::uint64_t num_records,
                         std::uint32_t index_crc) {
  index_footer footer{footer_magic, index_offset, index_bytes, num_records, index_crc, 0};
  footer.footer_crc = crc_before_end(footer);
  return footer;
}

bool is_footer(const index_footer& footer) {
  return footer.magic == footer_magic && footer.footer_crc == crc_before_end(footer);
}

std::uint32_t record_crc(std::uint32_t kind, std::span<const std::byte> key) {
  const std::uint64_t key_bytes = key.size();
  std::uint32_t crc = crc32(0, std::as_bytes(std::span(&kind, 1)));
  crc = crc32(crc, std::as_bytes(std::span(&key_bytes, 1)));
  return crc32(crc, key);
}

}  // namespace imbrex
