#pragma once

#include <cstdint>
#include <vector>

#include "imbrex/device/event.h"

namespace imbrex {

class simulated_gpu;
class simulated_queue;

/// A point in a stream of a simulated device.
struct simulated_point final : event_state {
  bool complete() const override { return is_complete; }
  bool is_complete = false;
  const simulated_gpu* of = nullptr;      ///< whose stream it is in; null: the host's
  std::int64_t at = 0;                    ///< when it was complete
  std::vector<simulated_queue*> waiting;  ///< that go on when it is
};

}  // namespace imbrex
