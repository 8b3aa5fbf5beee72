#include "imbrex/checkpoint/snapshot_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "imbrex/base/error.h"
#include "imbrex/checkpoint/chunked_file.h"
#include "imbrex/checkpoint/crc32.h"
#include "imbrex/checkpoint/snapshot_format.h"

namespace imbrex {

namespace {

std::size_t checked_chunk(std::size_t bytes) {
  if (bytes == 0) throw usage_error("a snapshot_writer has chunks of 0 bytes: give it some MiB");
  return bytes;
}

template <class T>
std::span<const std::byte> bytes_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

snapshot_writer::snapshot_writer(const std::string& folder, std::int32_t rank, const snapshot_writer_options& options)
    : file_(std::make_unique<chunked_file>(disk_file::create(rank_file_path(folder, rank)),
                                           checked_chunk(options.chunk_bytes), options.behind)),
      to_(*file_) {
  begin_file(rank);
}

snapshot_writer::snapshot_writer(byte_sink& to, std::int32_t rank) : to_(to) { begin_file(rank); }

void snapshot_writer::begin_file(std::int32_t rank) {
  facts_.rank = rank;
  to_.append(bytes_of(make_head(snapshot_part::rank_file, static_cast<std::uint64_t>(rank), 0)));
}

void snapshot_writer::begin(std::uint32_t kind, std::span<const std::byte> key) {
  expect(phase::between, "begin");
  if (kind >= max_record_kinds) {
    throw usage_error(
        fmt::format("a record for {} has kind {}: kinds are below {}", to_.path(), kind, max_record_kinds));
  }
  begin_ = to_.size();
  crc_ = record_crc(kind, key);
  entry_at_ = index_.size();
  const index_entry entry{begin_, 0, kind, 0, key.size()};
  const auto head = bytes_of(entry);
  index_.insert(index_.end(), head.begin(), head.end());
  index_.insert(index_.end(), key.begin(), key.end());
  if (facts_.kinds.size() <= kind) facts_.kinds.resize(kind + 1);
  phase_ = phase::in_record;
}

void snapshot_writer::append(std::span<const std::byte> piece) {
  expect(phase::in_record, "append");
  while (!piece.empty()) {
    // To where a chunk begins, and by whole chunks from there on: these are written from where they lie.
    const auto part = piece.first(std::min(piece.size(), to_.room()));
    crc_ = crc32(crc_, part);
    to_.append(part);
    piece = piece.subspan(part.size());
  }
}

void snapshot_writer::end() {
  expect(phase::in_record, "end");
  index_entry entry;
  std::memcpy(&entry, index_.data() + entry_at_, sizeof entry);
  entry.bytes = to_.size() - begin_;
  entry.crc = crc_;
  std::memcpy(index_.data() + entry_at_, &entry, sizeof entry);
  ++facts_.num_records;
  ++facts_.kinds[entry.kind].num_records;
  facts_.kinds[entry.kind].payload_bytes += entry.bytes;
  phase_ = phase::between;
}

void snapshot_writer::add(std::uint32_t kind, std::span<const std::byte> key,
                          std::span<const std::span<const std::byte>> payload) {
  begin(kind, key);
  for (const auto piece : payload) append(piece);
  end();
}

void snapshot_writer::add(std::uint32_t kind, std::span<const std::byte> key, std::span<const std::byte> payload) {
  add(kind, key, std::span(&payload, 1));
}

rank_file_facts snapshot_writer::finish() {
  expect(phase::between, "finish");
  phase_ = phase::finished;
  facts_.index_crc = crc32(0, index_);
  const index_footer footer = make_footer(to_.size(), index_.size(), facts_.num_records, facts_.index_crc);
  to_.append(index_);
  to_.append(bytes_of(footer));
  facts_.bytes = to_.size();
  to_.finish();
  return facts_;
}

void snapshot_writer::expect(phase wanted, const char* call) const {
  if (phase_ == wanted) return;
  const char* now = phase_ == phase::between     ? "no record is begun"
                    : phase_ == phase::in_record ? "a record is begun and not ended"
                                                 : "it is finished";
  throw usage_error(
      fmt::format("snapshot_writer::{} for {} while {}: begin, append and end records in turn, then finish", call,
                  to_.path(), now));
}

}  // namespace imbrex
