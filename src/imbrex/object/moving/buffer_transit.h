#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "imbrex/comm/data/remote_data.h"
#include "imbrex/device/buffer.h"
#include "imbrex/object/collection/element.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

/// The buffers that an element takes along beside its state. To a PE of its process they go as they are. To another
/// process go words of where they are, as with GPU messages: the new PE reads them where GPUs reach each other's memory
/// (by CUDA IPC), else asks for them, and the old PE keeps each until it has been read.
class buffer_transit {
 public:
  std::vector<buffer<std::byte>>& buffers() { return buffers_; }

  /// On the old PE, before the message is sent to another process: nothing is under way on the buffers.
  void leave_process(scheduler& pe);
  /// On the new PE: whether some have still to be fetched.
  bool is_incomplete() const { return !elsewhere_.empty(); }
  /// Fetches them, and calls `complete` with all of them on this PE, later, when their data are there. A job that ends
  /// first does not call it.
  void fetch(scheduler& pe, std::function<void(std::vector<buffer<std::byte>>)> complete);
  void have(std::vector<buffer<std::byte>> all) { buffers_ = std::move(all); }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & elsewhere_;
  }

 private:
  std::vector<buffer<std::byte>> buffers_;
  std::vector<remote_data> elsewhere_;
};

namespace detail {
/// Buffers that a chare's constructor made and its state has replaced: they go when what the constructor has enqueued
/// on `streams()` is over, which may write there.
void keep_until_idle(chare_base& element, std::vector<buffer<std::byte>> replaced);
}  // namespace detail

}  // namespace imbrex
