#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/async/progress_source.h"

namespace imbrex {

/// One operation of a device: who had it done, when its stream had come to it, and when it had ended, on a time line
/// that all devices of the process share to some microseconds. When it *ran* between these is not known: it may have
/// waited for others of its device (`balance/live/device_shares.h`).
struct device_operation {
  const actor* of = nullptr;  ///< whose code put it into the stream
  int device = 0;             ///< `device::number`
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Measures what operations of devices take, by time stamps in the order of their streams, for some operations at a
/// time: stamps cost a microsecond or so, so a sample is taken now and then. Between samples nothing is paid but the
/// look whether one is being taken. For the PE's thread.
class usage_meter {
 public:
  virtual ~usage_meter() = default;
  /// The one of a PE, or null where devices cannot tell.
  static usage_meter* of(const executor& pe) { return dynamic_cast<usage_meter*>(pe.devices); }

  /// Measures the next `most` operations that elements of this PE put into streams; what was measured before is
  /// forgotten.
  virtual void measure(std::size_t most) = 0;
  /// What has been measured and has ended. Measuring is over.
  virtual std::vector<device_operation> measured() = 0;
};

}  // namespace imbrex
