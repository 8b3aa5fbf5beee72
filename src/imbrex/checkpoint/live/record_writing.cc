#include "imbrex/checkpoint/live/record_writing.h"

#include <algorithm>

#include "imbrex/checkpoint/disk_file.h"
#include "imbrex/object/state/element_state.h"

namespace imbrex {

namespace {

constexpr std::size_t staging_bytes = std::size_t{8} << 20;

/// What is on devices goes piece by piece through `staging`.
void write_payload(snapshot_writer& file, const saved_state& s, std::span<std::byte> staging) {
  std::size_t written = 0;
  for (const saved_state::piece& d : s.later) {
    file.append(std::span(s.bytes).subspan(written, d.at - written));
    written = d.at;
    file.append(d.on_host);
    for (std::size_t from = 0; from < d.copy.size(); from += staging.size()) {
      const std::span<std::byte> piece = staging.first(std::min(staging.size(), d.copy.size() - from));
      d.copy.on()->read_now(piece.data(), d.copy.data() + from, piece.size(), event());
      file.append(piece);
    }
  }
  file.append(std::span(s.bytes).subspan(written));
}

}  // namespace

buffer<std::byte> staging_for(const records_of_pes& of_pes) {
  for (const std::vector<snapshot_record>& records : of_pes) {
    for (const snapshot_record& r : records) {
      for (const saved_state::piece& d : r.payload.later) {
        if (d.copy.size() > 0) return {detail::handle_here(*d.copy.on()), staging_bytes, memory_kind::pinned};
      }
    }
  }
  return {};
}

rank_file_facts write_records(snapshot_writer& to, records_of_pes& of_pes, std::span<std::byte> staging) {
  for (std::vector<snapshot_record>& records : of_pes) {
    for (snapshot_record& r : records) {
      to.begin(static_cast<std::uint32_t>(r.kind), r.key);
      write_payload(to, r.payload, staging);
      to.end();
      r.payload.bytes = {};
      for (saved_state::piece& d : r.payload.later) d.on_host = {};
    }
  }
  return to.finish();
}

std::uint64_t expected_bytes(const records_of_pes& of_pes) {
  constexpr std::uint64_t of_index = 128;
  std::uint64_t total = of_index;
  for (const std::vector<snapshot_record>& records : of_pes) {
    for (const snapshot_record& r : records) {
      total += r.payload.bytes.size() + r.key.size() + of_index;
      for (const saved_state::piece& d : r.payload.later) total += d.copy.size() + d.on_host.size();
    }
  }
  return total;
}

void write_image(const std::string& folder, std::int32_t rank, std::span<const std::byte> image) {
  disk_file file = disk_file::create(rank_file_path(folder, rank));
  constexpr std::size_t chunk_bytes = std::size_t{4} << 20;
  for (; !image.empty(); image = image.subspan(std::min(chunk_bytes, image.size())))
    file.write(image.first(std::min(chunk_bytes, image.size())));
  file.sync();
  file.close();
}

}  // namespace imbrex
