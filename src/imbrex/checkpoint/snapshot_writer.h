#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "imbrex/checkpoint/byte_sink.h"
#include "imbrex/checkpoint/manifest.h"

namespace imbrex {

/// The largest number of a kind of records, and one more than it.
inline constexpr std::uint32_t max_record_kinds = 1024;

struct snapshot_writer_options {
  std::size_t chunk_bytes = std::size_t{4} << 20;  ///< written at once; memory for one, or two with `behind`
  bool behind = false;                             ///< a thread of its own writes
};

/// One rank's file of a checkpoint. Records are appended one after the other, payloads in pieces of any size, which are
/// not kept: what stays in memory is the index (32 bytes and the key of each record) and one or two chunks. One thread
/// at a time.
///
/// Errors: `snapshot_error` from the call that meets it; with `behind`, what goes wrong at the disk comes from
/// `finish`. After an error the file is of no use. Calls in a wrong order are `usage_error`s.
class snapshot_writer {
 public:
  /// Creates the file of `rank` in the folder of a `partial_checkpoint`, which is there already.
  snapshot_writer(const std::string& folder, std::int32_t rank, const snapshot_writer_options& options = {});
  /// The same bytes to elsewhere; `to` outlives this.
  snapshot_writer(byte_sink& to, std::int32_t rank);

  /// \name A record whose payload comes in pieces: `begin`, `append` as often as needed, `end`
  ///@{
  /// `kind` < `max_record_kinds`; its name is in `snapshot_facts::kinds`. Keys mean nothing here.
  void begin(std::uint32_t kind, std::span<const std::byte> key);
  void append(std::span<const std::byte> piece);
  void end();
  ///@}

  /// A whole record; its payload is the spans one behind the other.
  void add(std::uint32_t kind, std::span<const std::byte> key, std::span<const std::span<const std::byte>> payload);
  void add(std::uint32_t kind, std::span<const std::byte> key, std::span<const std::byte> payload);

  /// Bytes of the file so far, without the index.
  std::uint64_t size() const { return to_.size(); }

  /// Writes the index; returns when all is on the disk. Last call. What it returns goes to rank 0.
  rank_file_facts finish();

 private:
  enum class phase { between, in_record, finished };
  void begin_file(std::int32_t rank);
  void expect(phase wanted, const char* call) const;

  std::unique_ptr<byte_sink> file_;  // null: it goes elsewhere
  byte_sink& to_;
  phase phase_ = phase::between;
  std::uint64_t begin_ = 0;   // of the current payload
  std::size_t entry_at_ = 0;  // its entry in the index
  std::uint32_t crc_ = 0;
  std::vector<std::byte> index_;
  rank_file_facts facts_;
};

}  // namespace imbrex
