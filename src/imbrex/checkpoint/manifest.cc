#include "imbrex/checkpoint/manifest.h"

#include <fmt/format.h>

#include <cstddef>
#include <span>

#include "imbrex/base/serialize.h"
#include "imbrex/checkpoint/crc32.h"
#include "imbrex/checkpoint/disk_file.h"
#include "imbrex/checkpoint/snapshot_error.h"
#include "imbrex/checkpoint/snapshot_format.h"

namespace imbrex {

std::uint64_t rank_file_facts::payload_bytes() const {
  std::uint64_t sum = 0;
  for (const kind_total& k : kinds) sum += k.payload_bytes;
  return sum;
}

std::uint64_t snapshot_manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const rank_file_facts& f : files) sum += f.bytes;
  return sum;
}

std::uint64_t snapshot_manifest::num_records() const {
  std::uint64_t sum = 0;
  for (const rank_file_facts& f : files) sum += f.num_records;
  return sum;
}

std::vector<kind_total> snapshot_manifest::kinds() const {
  std::vector<kind_total> sums;
  for (const rank_file_facts& f : files) {
    if (sums.size() < f.kinds.size()) sums.resize(f.kinds.size());
    for (std::size_t i = 0; i < f.kinds.size(); ++i) {
      sums[i].num_records += f.kinds[i].num_records;
      sums[i].payload_bytes += f.kinds[i].payload_bytes;
    }
  }
  return sums;
}

std::string snapshot_manifest::kind_name(std::size_t kind) const {
  return kind < facts.kinds.size() ? facts.kinds[kind] : fmt::format("kind {}", kind);
}

std::string manifest_path(const std::string& folder) { return folder + "/manifest"; }

std::string rank_file_path(const std::string& folder, std::int32_t rank) {
  return fmt::format("{}/rank_{:06}", folder, rank);
}

void write_manifest(const std::string& folder, const snapshot_manifest& manifest) {
  const std::vector<std::byte> body = to_bytes(manifest);
  const snapshot_head head = make_head(snapshot_part::manifest, body.size(), crc32(0, body));
  disk_file file = disk_file::create(manifest_path(folder));
  file.write(std::as_bytes(std::span(&head, 1)));
  file.write(body);
  file.sync();
  file.close();
}

snapshot_manifest read_manifest(const std::string& folder) {
  const disk_file file = disk_file::open_for_reading(manifest_path(folder));
  snapshot_head head;
  const std::uint64_t size = file.size();
  if (size < sizeof head) {
    throw snapshot_error(snapshot_fault::torn, file.path(), fmt::format("is cut short (it has {} bytes)", size));
  }
  file.read_at(0, std::as_writable_bytes(std::span(&head, 1)));
  check_head(head, snapshot_part::manifest, file.path());
  if (size - sizeof head != head.number) {
    throw snapshot_error(snapshot_fault::torn, file.path(),
                         fmt::format("has {} bytes where {} were written", size, sizeof head + head.number));
  }
  std::vector<std::byte> body(head.number);
  file.read_at(sizeof head, body);
  if (crc32(0, body) != head.body_crc) {
    throw snapshot_error(snapshot_fault::damaged_manifest, file.path(), "is damaged (its checksum differs)");
  }
  snapshot_manifest manifest;
  try {
    from_bytes(body, manifest);
  } catch (const comm_error& e) {  // the checksum is right: whoever wrote it writes something else
    throw snapshot_error(snapshot_fault::damaged_manifest, file.path(), fmt::format("cannot be read ({})", e.what()));
  }
  return manifest;
}

}  // namespace imbrex
