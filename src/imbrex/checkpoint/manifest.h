#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace imbrex {

/// How many ranks, PEs and GPUs a job has.
struct snapshot_shape {
  std::int32_t num_ranks = 1;
  std::int32_t pes_per_rank = 1;
  std::int32_t gpus_per_rank = 0;

  bool operator==(const snapshot_shape&) const = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & num_ranks & pes_per_rank & gpus_per_rank;
  }
};

/// What the job says of the checkpoint as a whole.
struct snapshot_facts {
  std::uint64_t program = 0;  ///< digest of the program that wrote it
  snapshot_shape shape;
  std::uint64_t step = 0;
  std::string label;               ///< the user's
  std::vector<std::string> kinds;  ///< names of the kinds of records, by their numbers; for people

  template <class Archive>
  void serialize(Archive& ar) {
    ar & program & shape & step & label & kinds;
  }
};

/// How many records of one kind there are, and their bytes.
struct kind_total {
  std::uint64_t num_records = 0;
  std::uint64_t payload_bytes = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & num_records & payload_bytes;
  }
};

/// What a rank's writer says of its file when it is finished; goes to rank 0.
struct rank_file_facts {
  std::int32_t rank = 0;
  std::uint64_t bytes = 0;  ///< of the whole file
  std::uint64_t num_records = 0;
  std::uint32_t index_crc = 0;
  std::vector<kind_total> kinds;  ///< by the numbers of kinds

  std::uint64_t payload_bytes() const;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & rank & bytes & num_records & index_crc & kinds;
  }
};

/// What makes a folder a checkpoint. Written last: where it is, everything is.
struct snapshot_manifest {
  std::uint64_t number = 0;     ///< of the checkpoint, in the order of writing
  std::int64_t written_at = 0;  ///< seconds since 1970 in UTC
  snapshot_facts facts;
  std::vector<rank_file_facts> files;  ///< that of rank i at place i

  std::uint64_t bytes() const;  ///< of all ranks' files
  std::uint64_t num_records() const;
  std::vector<kind_total> kinds() const;  ///< over all ranks
  /// The kind's name, or "kind 7" where it has none.
  std::string kind_name(std::size_t kind) const;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & written_at & facts & files;
  }
};

/// `<folder>/manifest` and `<folder>/rank_000003`.
std::string manifest_path(const std::string& folder);
std::string rank_file_path(const std::string& folder, std::int32_t rank);

/// Writes the manifest of a folder; returns when it is on the disk. Throws `snapshot_error`.
void write_manifest(const std::string& folder, const snapshot_manifest& manifest);

/// Reads and checks the manifest of a folder, but not what it speaks of. Throws `snapshot_error`.
snapshot_manifest read_manifest(const std::string& folder);

}  // namespace imbrex
