#include "imbrex/checkpoint/record_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "imbrex/checkpoint/crc32.h"
#include "imbrex/checkpoint/snapshot_error.h"
#include "imbrex/checkpoint/snapshot_format.h"

namespace imbrex {

namespace {

std::string key_as_text(std::span<const std::byte> key) {
  constexpr std::size_t most = 24;
  std::string text;
  for (const std::byte b : key.first(std::min(key.size(), most))) text += fmt::format("{:02x}", static_cast<int>(b));
  return key.size() > most ? text + "..." : text;
}

[[noreturn]] void damaged(const std::string& file, const std::string& how) {
  throw snapshot_error(snapshot_fault::damaged_index, file, how);
}

}  // namespace

std::vector<record_view> records_of_index(std::span<const std::byte> index, const index_facts& facts) {
  std::vector<record_view> records;
  records.reserve(std::min<std::uint64_t>(facts.num_records, index.size() / sizeof(index_entry)));
  while (!index.empty()) {
    index_entry e;
    if (index.size() < sizeof e) damaged(facts.file, "has an index that ends inside an entry");
    std::memcpy(&e, index.data(), sizeof e);
    index = index.subspan(sizeof e);
    const bool fits =
        e.key_bytes <= index.size() && e.offset <= facts.end_of_payloads && e.bytes <= facts.end_of_payloads - e.offset;
    if (!fits) damaged(facts.file, "has an index that names bytes outside of the file");
    records.push_back({e.kind, facts.rank, e.bytes, e.offset, e.crc, index.first(e.key_bytes)});
    index = index.subspan(e.key_bytes);
  }
  if (records.size() != facts.num_records) {
    damaged(facts.file,
            fmt::format("has an index of {} records where {} were written", records.size(), facts.num_records));
  }
  return records;
}

void check_record_crc(const record_view& record, std::uint32_t crc, const std::string& file) {
  if (crc == record.crc) return;
  throw snapshot_error(
      snapshot_fault::damaged_payload, file,
      fmt::format("is damaged in the record of kind {} with key {} ({} bytes at {}; the checksum differs)", record.kind,
                  key_as_text(record.key), record.bytes, record.offset));
}

void check_payload(const record_view& record, std::span<const std::byte> payload, const std::string& file) {
  check_record_crc(record, crc32(record_crc(record.kind, record.key), payload), file);
}

}  // namespace imbrex
