#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace imbrex {

/// Where a rank's part of a checkpoint goes, byte after byte: a file, or memory. One thread at a time.
class byte_sink {
 public:
  virtual ~byte_sink() = default;

  /// The bytes may be changed once it returns.
  virtual void append(std::span<const std::byte> bytes) = 0;
  /// Bytes appended so far.
  virtual std::uint64_t size() const = 0;
  /// Pieces that end so many bytes from here are taken best; 1 at least.
  virtual std::size_t room() const = 0;
  /// Returns when all is where it is to stay. Nothing can be appended any more.
  virtual void finish() = 0;
  /// For messages.
  virtual const std::string& path() const = 0;
};

}  // namespace imbrex
