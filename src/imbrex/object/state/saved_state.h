#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "imbrex/device/buffer.h"

namespace imbrex {

namespace detail {
class object_reading;
}

/// The state of an element in a checkpoint: bytes, and between them what lies elsewhere.
struct saved_state {
  struct piece {
    std::size_t at = 0;                                         ///< stands before byte `at` of `bytes`
    buffer<std::byte> copy = {};                                ///< on its device, a copy of its own
    std::vector<std::byte> on_host = {};                        ///< or here
    std::shared_ptr<detail::object_reading> reading = nullptr;  ///< or an object that has not been read yet
  };
  std::vector<std::byte> bytes;
  std::vector<piece> later;  ///< in their order
};

/// Copies buffers of devices on their devices, so that elements may go on before the bytes are at the host.
class device_saver {
 public:
  /// Enqueues the copy of `bytes` at `from` on `on` and notes it behind what `to` has; false: there is no room for it,
  /// or it can only be read by this PE.
  virtual bool save_later(saved_state& to, device& on, const void* from, std::size_t bytes) = 0;

 protected:
  ~device_saver() = default;
};

}  // namespace imbrex
