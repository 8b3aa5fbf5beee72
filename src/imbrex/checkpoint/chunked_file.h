#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "imbrex/base/memory/aligned_bytes.h"
#include "imbrex/checkpoint/byte_sink.h"
#include "imbrex/checkpoint/disk_file.h"
#include "imbrex/checkpoint/write_thread.h"

namespace imbrex {

/// A file that grows by small and large pieces and is written by large ones: chunks, at multiples of their size. Holds
/// memory for one chunk, or for two where a thread writes behind. One thread at a time.
class chunked_file final : public byte_sink {
 public:
  /// `behind`: a thread of its own writes, and failures appear in `finish`; else the call throws that meets them.
  chunked_file(disk_file file, std::size_t chunk_bytes, bool behind);
  /// Without `finish`, what is left in memory is not written.
  ~chunked_file() override;
  chunked_file(const chunked_file&) = delete;
  chunked_file& operator=(const chunked_file&) = delete;

  /// The bytes may be changed once it returns. Where no thread writes behind, those that complete a chunk go to the
  /// system without a copy.
  void append(std::span<const std::byte> bytes) override;
  /// Bytes appended so far.
  std::uint64_t size() const override { return size_; }
  /// Bytes from here to the beginning of the next chunk, 1 at least.
  std::size_t room() const override { return chunk_bytes_ - filled_; }
  const std::string& path() const override { return file_.path(); }

  /// Returns when all is on the disk, and closes it. Throws `snapshot_error`. Nothing can be appended any more.
  void finish() override;

 private:
  void write_out(std::span<const std::byte> bytes);

  disk_file file_;
  const std::size_t chunk_bytes_;
  std::uint64_t size_ = 0;
  std::size_t filled_ = 0;
  aligned_bytes filling_;
  aligned_bytes being_written_;
  std::unique_ptr<write_thread> thread_;  // last: it ends before the memory that it writes from
};

}  // namespace imbrex
