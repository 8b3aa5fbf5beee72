#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "imbrex/checkpoint/manifest.h"
#include "imbrex/checkpoint/rank_file.h"
#include "imbrex/checkpoint/snapshot_error.h"

namespace imbrex {

/// How much of a checkpoint is looked at to call it whole.
enum class check_depth {
  sizes,     ///< the manifest, and that all files are there in full length
  indexes,   ///< and all of them but the payloads
  payloads,  ///< everything; takes as long as reading it
};

struct snapshot_checks {
  check_depth depth = check_depth::indexes;
  std::optional<std::uint64_t> program;  ///< digest that it must have
};

/// A checkpoint that is read by any number of ranks, each of which opens it: they look through the records of all files
/// and read the payloads that they want. One thread at a time.
///
/// Errors: `snapshot_error`, whose remedy names another checkpoint of the same folder that is whole, where there is
/// one.
class snapshot_reader {
 public:
  /// Opens `folder`, such as `checkpoints/000012`, and checks it.
  explicit snapshot_reader(std::string folder, const snapshot_checks& checks = {});

  const std::string& folder() const { return folder_; }
  const snapshot_manifest& about() const { return about_; }
  int num_files() const { return static_cast<int>(files_.size()); }

  /// The records that a rank wrote, in its order. With `check_depth::sizes` the first call reads and checks the index:
  /// ranks may share that work among them. They stay valid as long as the reader.
  std::span<const record_view> records(int file);

  /// \name Payloads, checked; see rank_file.h
  ///@{
  std::vector<std::byte> read(const record_view& record);
  void read(const record_view& record, std::span<std::byte> to);
  void read_in_pieces(const record_view& record, std::span<std::byte> buffer, const payload_taker& take);
  ///@}

  /// The file that has it.
  std::string name_of(const record_view& record) const;

  /// Reads everything; throws at the first damage.
  void check_payloads();

  /// What is wrong with a folder, without looking for a remedy; nothing if it is whole.
  static std::optional<snapshot_error> complaint_about(const std::string& folder, const snapshot_checks& checks = {});

 private:
  snapshot_reader() = default;
  void open(const snapshot_checks& checks);
  void check_program() const;
  void check_all_payloads();
  rank_file& file_of(const record_view& record);
  template <class Call>
  decltype(auto) explained(Call call);

  std::string folder_;
  std::optional<std::uint64_t> program_;
  snapshot_manifest about_;
  std::vector<rank_file> files_;
  std::vector<std::size_t> open_files_;
};

}  // namespace imbrex
