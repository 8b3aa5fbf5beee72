#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>

#include "imbrex/async/executor.h"
#include "imbrex/memory/buffer.h"

namespace imbrex {

/// Finds memory that a sender wrote while it was lent to a receiver (`--imbrex-check-races`): a copy of the bytes as
/// they were sent is compared with what stands there once the receiver has read them. Costs two copies for each
/// message.
class race_check {
 public:
  /// As the bytes are when stream `s` comes here; `who` names the channel in the report.
  static std::shared_ptr<race_check> as_sent(std::string who, const void* bytes, std::size_t size, memory_kind kind,
                                             stream& s) {
    auto check = std::make_shared<race_check>(std::move(who), bytes, size, s);
    if (kind == memory_kind::device) {
      s.copy(check->sent_.data(), bytes, size);
    } else {
      s.then("race check", [check] { check->copy_host(check->sent_); });
    }
    return check;
  }

  race_check(std::string who, const void* bytes, std::size_t size, stream& s)
      : who_(std::move(who)), bytes_(bytes), sent_(s.on(), size, memory_kind::pinned) {}

  /// The receiver has read host memory.
  void was_read() const {
    if (sent_.size() > 0 && std::memcmp(sent_.data(), bytes_, sent_.size()) != 0) report();
  }
  /// The receiver has put what reads a GPU's memory into stream `s`. Compares when the stream has come there.
  static void will_be_read(const std::shared_ptr<race_check>& check, stream& s) {
    auto now = std::make_shared<buffer<std::byte>>(s.on(), check->sent_.size(), memory_kind::pinned);
    s.copy(now->data(), check->bytes_, now->size());
    s.then("race check", [check, now] {
      if (now->size() > 0 && std::memcmp(check->sent_.data(), now->data(), now->size()) != 0) check->report();
    });
  }

 private:
  void copy_host(const buffer<std::byte>& to) const {
    if (to.size() > 0) std::memcpy(to.data(), bytes_, to.size());
  }
  void report() const {
    executor::current()->fail(who_ +
                              " lent memory that was written before the receiver had read it: await the result of "
                              "`send`, or use two buffers in turn");
  }

  std::string who_;
  const void* bytes_;
  buffer<std::byte> sent_;
};

}  // namespace imbrex
