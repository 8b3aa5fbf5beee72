#pragma once

#include <functional>
#include <span>
#include <vector>

#include "imbrex/device/stream.h"

namespace imbrex {

/// Whether everything that was enqueued on these streams has finished. Costs what `stream::idle` does, for each.
bool all_idle(std::span<stream* const> streams);

/// Calls a function, once, when streams have nothing to do any more: what stood there at the start, and what was
/// enqueued meanwhile, e.g. by what stood there. The function is called from the PE's loop, never from within a call of
/// this; no coroutine is needed. Quiescence waits for it. Destroying this, which the function may do, calls it off: do
/// so before the streams go. For the PE of the streams.
class stream_drain {
 public:
  stream_drain() = default;
  stream_drain(std::vector<stream*> streams, std::function<void()> done);
  ~stream_drain();
  stream_drain(stream_drain&& other) noexcept;
  stream_drain& operator=(stream_drain&& other) noexcept;

  /// Whether the function is still to be called.
  bool pending() const { return state_ != nullptr; }

 private:
  struct state;
  void call_off() noexcept;

  state* state_ = nullptr;
};

}  // namespace imbrex
