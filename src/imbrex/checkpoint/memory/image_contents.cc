#include "imbrex/checkpoint/memory/image_contents.h"

#include <cstring>

#include <fmt/format.h>

#include "imbrex/checkpoint/crc32.h"
#include "imbrex/checkpoint/snapshot_error.h"
#include "imbrex/checkpoint/snapshot_format.h"

namespace imbrex {

std::string image_name(std::int32_t rank) { return fmt::format("the checkpoint in memory, rank {}'s part,", rank); }

namespace {
[[noreturn]] void damaged(std::int32_t rank, const char* how) {
  throw snapshot_error(snapshot_fault::damaged_index, image_name(rank), how);
}
}  // namespace

image_contents contents_of(std::span<const std::byte> image, std::int32_t rank, std::uint32_t index_crc,
                           const std::function<bool(const record_view&)>& is_told) {
  snapshot_head head;
  index_footer footer;
  if (image.size() < sizeof head + sizeof footer) damaged(rank, "is smaller than an empty one");
  std::memcpy(&head, image.data(), sizeof head);
  check_head(head, snapshot_part::rank_file, image_name(rank));
  const std::uint64_t end = image.size() - sizeof footer;
  std::memcpy(&footer, image.data() + end, sizeof footer);
  if (!is_footer(footer)) damaged(rank, "is damaged in its last 40 bytes (their checksum differs)");
  if (footer.index_offset > end || footer.index_bytes != end - footer.index_offset)
    damaged(rank, "has an index that is not where it says");
  const std::span<const std::byte> index = image.subspan(footer.index_offset, footer.index_bytes);
  if (crc32(0, index) != footer.index_crc || footer.index_crc != index_crc)
    damaged(rank, "is damaged in its index (the checksum differs)");
  if (head.number != static_cast<std::uint64_t>(rank)) damaged(rank, "is another rank's");
  image_contents c{rank, footer.num_records, footer.index_offset, {index.begin(), index.end()}, {}};
  for (const record_view& r : records_of(c)) {
    std::vector<std::byte>& payload = c.payloads.emplace_back();
    if (!is_told(r)) continue;
    const auto bytes = image.subspan(r.offset, r.bytes);
    check_payload(r, bytes, image_name(rank));
    payload.assign(bytes.begin(), bytes.end());
  }
  return c;
}

std::vector<record_view> records_of(const image_contents& c) {
  return records_of_index(c.index, {c.rank, c.num_records, c.end_of_payloads, image_name(c.rank)});
}

}  // namespace imbrex
