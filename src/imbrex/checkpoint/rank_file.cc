#include "imbrex/checkpoint/rank_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "imbrex/base/error.h"
#include "imbrex/checkpoint/crc32.h"
#include "imbrex/checkpoint/snapshot_error.h"
#include "imbrex/checkpoint/snapshot_format.h"

namespace imbrex {

namespace {

// Read and checked while it is still in a cache.
constexpr std::size_t piece_bytes = std::size_t{1} << 20;

}  // namespace

rank_file::rank_file(const std::string& folder, const rank_file_facts& facts)
    : path_(rank_file_path(folder, facts.rank)), facts_(facts) {
  struct stat found{};
  if (stat(path_.c_str(), &found) != 0) throw_system_fault(errno, path_, "could not be read");
  if (static_cast<std::uint64_t>(found.st_size) != facts.bytes) {
    throw snapshot_error(snapshot_fault::torn, path_,
                         fmt::format("has {} bytes where {} were written", found.st_size, facts.bytes));
  }
}

std::span<const record_view> rank_file::records() {
  if (!has_index_) read_index();
  return records_;
}

void rank_file::read_index() {
  snapshot_head head;
  index_footer footer;
  if (facts_.bytes < sizeof head + sizeof footer) damaged_index("is smaller than an empty one");
  const disk_file& file = opened();
  file.read_at(0, std::as_writable_bytes(std::span(&head, 1)));
  check_head(head, snapshot_part::rank_file, path_);
  file.read_at(facts_.bytes - sizeof footer, std::as_writable_bytes(std::span(&footer, 1)));
  if (!is_footer(footer)) damaged_index("is damaged in its last 40 bytes (their checksum differs)");
  const std::uint64_t end = facts_.bytes - sizeof footer;
  if (footer.index_offset > end || footer.index_bytes != end - footer.index_offset) {
    damaged_index("has an index that is not where it says");
  }
  index_.resize(footer.index_bytes);
  file.read_at(footer.index_offset, index_);
  if (crc32(0, index_) != footer.index_crc) damaged_index("is damaged in its index (the checksum differs)");
  if (footer.index_crc != facts_.index_crc || head.number != static_cast<std::uint64_t>(facts_.rank)) {
    damaged_index("is not the file that the manifest speaks of, but of another checkpoint or rank");
  }
  records_ = records_of_index(index_, {facts_.rank, footer.num_records, footer.index_offset, path_});
  has_index_ = true;
}

void rank_file::read(const record_view& record, std::span<std::byte> to) {
  if (to.size() != record.bytes) {
    throw usage_error(
        fmt::format("a payload of {} bytes is read into memory for {}: give as much", record.bytes, to.size()));
  }
  const disk_file& file = opened();
  std::uint32_t crc = record_crc(record.kind, record.key);
  std::uint64_t offset = record.offset;
  while (!to.empty()) {
    const auto part = to.first(std::min(to.size(), piece_bytes));
    file.read_at(offset, part);
    crc = crc32(crc, part);
    offset += part.size();
    to = to.subspan(part.size());
  }
  check_record_crc(record, crc, path_);
}

void rank_file::read_in_pieces(const record_view& record, std::span<std::byte> buffer, const payload_taker& take) {
  if (buffer.empty()) throw usage_error("a payload is read in pieces of 0 bytes: give a buffer of some");
  const disk_file& file = opened();
  std::uint32_t crc = record_crc(record.kind, record.key);
  for (std::uint64_t done = 0; done < record.bytes;) {
    const auto part = buffer.first(std::min<std::uint64_t>(buffer.size(), record.bytes - done));
    file.read_at(record.offset + done, part);
    crc = crc32(crc, part);
    done += part.size();
    take(part);
  }
  check_record_crc(record, crc, path_);
}

const disk_file& rank_file::opened() {
  if (!file_) file_ = disk_file::open_for_reading(path_);
  return *file_;
}

void rank_file::damaged_index(const std::string& how) const {
  throw snapshot_error(snapshot_fault::damaged_index, path_, how);
}

}  // namespace imbrex
