#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "imbrex/checkpoint/live/pe_snapshot.h"
#include "imbrex/checkpoint/manifest.h"
#include "imbrex/checkpoint/snapshot_writer.h"

/// What PEs have taken, on its way to a file or into memory, by a thread of its own.
namespace imbrex {

using records_of_pes = std::vector<std::vector<snapshot_record>>;

/// Pinned memory for what is on devices; none is needed where there is nothing.
buffer<std::byte> staging_for(const records_of_pes& of_pes);

/// All that the PEs of a rank have taken; memory of records is freed as soon as they are written.
rank_file_facts write_records(snapshot_writer& to, records_of_pes& of_pes, std::span<std::byte> staging);

/// How many bytes they come to, about: without keys.
std::uint64_t expected_bytes(const records_of_pes& of_pes);

/// The file of a rank of which all bytes are in memory already.
void write_image(const std::string& folder, std::int32_t rank, std::span<const std::byte> image);

}  // namespace imbrex
