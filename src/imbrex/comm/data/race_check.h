#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "imbrex/device/buffer.h"

namespace imbrex {

/// Finds memory that a sender wrote while it was lent to a receiver (`--imbrex-check-races`): a copy of the bytes as
/// they were sent is compared with what stands there once the receiver has read them. Costs two copies for each
/// message.
class race_check {
 public:
  /// As the bytes are when stream `s` comes here, or now, where nothing is before it in `s` that could write them;
  /// `who` names the channel in the report.
  static std::shared_ptr<race_check> as_sent(std::string who, const void* bytes, std::size_t size, memory_kind kind,
                                             stream& s);

  race_check(std::string who, const void* bytes, std::size_t size, stream& s);

  /// The receiver has read host memory.
  void was_read() const;
  /// The receiver has put what reads a GPU's memory into stream `s`. Compares when the stream has come there.
  static void will_be_read(const std::shared_ptr<race_check>& check, stream& s);

 private:
  void copy_host(const buffer<std::byte>& to) const;
  void report() const;

  std::string who_;
  const void* bytes_;
  buffer<std::byte> sent_;
};

}  // namespace imbrex
