#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "arrays.h"

namespace imbrex_python {

/// One end of a channel of bytes of the host or of a device, and what has been sent there and not been read. Of a
/// chare, and for its PE.
class channel_state {
 public:
  channel_state(ix::channel<std::byte> c, ix::stream& s, bool of_device)
      : channel(std::move(c)), in_order_of(&s), of_device_(of_device) {}

  struct sending {
    ix::channel_send sent;
    array_memory kept;
  };
  /// What nobody awaits goes when it has been read.
  std::shared_ptr<sending> send(const array_memory& a, std::optional<CUstream_st*> after);
  void forget(const std::shared_ptr<sending>& s) { std::erase(under_way_, s); }
  ix::memory_kind kind() const { return of_device_ ? ix::memory_kind::device : ix::memory_kind::host; }
  bool is_of_device() const { return of_device_; }
  /// Throws `usage_error` unless the channel is one for such memory.
  void check(const array_memory& a) const;

  ix::channel<std::byte> channel;
  ix::stream* in_order_of;

 private:
  bool of_device_;
  std::vector<std::shared_ptr<sending>> under_way_;
};

}  // namespace imbrex_python
