#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "imbrex/checkpoint/disk_file.h"
#include "imbrex/checkpoint/manifest.h"
#include "imbrex/checkpoint/record_index.h"

namespace imbrex {

/// Takes a part of a payload; the memory is used again for the next part.
using payload_taker = std::function<void(std::span<const std::byte>)>;

/// Reads one rank's file. Throws `snapshot_error`s that say what is wrong with it, without a remedy. One thread at a
/// time.
class rank_file {
 public:
  /// Nothing but the size is looked at.
  rank_file(const std::string& folder, const rank_file_facts& facts);

  const std::string& path() const { return path_; }

  /// In the order of writing. The first call reads the index and checks all of the file but the payloads.
  std::span<const record_view> records();

  /// Fills `to`, as large as the payload, and checks it. After an error `to` has any bytes.
  void read(const record_view& record, std::span<std::byte> to);
  /// Gives the payload in pieces as large as `buffer` (the last one may be smaller). That they are right is known only
  /// at the end: it throws then if they are not.
  void read_in_pieces(const record_view& record, std::span<std::byte> buffer, const payload_taker& take);

  /// \name A file is opened when it is needed, and stays open
  ///@{
  bool is_open() const { return file_.has_value(); }
  void close() { file_.reset(); }
  ///@}

 private:
  void read_index();
  const disk_file& opened();
  [[noreturn]] void damaged_index(const std::string& how) const;

  std::string path_;
  rank_file_facts facts_;
  std::optional<disk_file> file_;
  bool has_index_ = false;
  std::vector<std::byte> index_;
  std::vector<record_view> records_;
};

}  // namespace imbrex
