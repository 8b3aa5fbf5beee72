#pragma once

#include <cstddef>
#include <cstdint>

#include "imbrex/async/executor.h"
#include "imbrex/async/work.h"
#include "imbrex/device/memory_kind.h"

namespace imbrex {

/// Bytes that a transport reads or writes where they lie. The kind is known to whoever gives them: no transport ever
/// asks the driver about a pointer (Moraru et al. 2021).
struct data_view {
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  memory_kind kind = memory_kind::host;
  int gpu = -1;  ///< with `device`: CUDA's number of the GPU in this process
};

/// One movement of data under way, kept by whoever asked for it. When the memory may be used again (a send) or holds
/// the data (a receive, a get), it is posted to `pe`, once.
struct transfer : work {
  executor* pe = nullptr;

  /// Any thread.
  void complete() { pe->post(this); }
};

}  // namespace imbrex
