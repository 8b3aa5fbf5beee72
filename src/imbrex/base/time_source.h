#pragma once

#include <cstdint>

#include "imbrex/base/clock.h"

namespace imbrex {

/// What the PEs of a job take the time from: the machine's clock, or one that whoever drives them moves on.
class time_source {
 public:
  virtual ~time_source() = default;
  /// Nanoseconds that never go back; zero is arbitrary. Any thread.
  virtual std::int64_t now_ns() const = 0;
  /// So much has been computed that took no time of this source: one that is not the machine's clock moves on by it.
  virtual void spend(std::int64_t ns) const { static_cast<void>(ns); }
};

/// The machine's monotonic clock (`now_ns()`).
const time_source& machine_time();

/// Stands still until it is moved: runs of the same program then see the same times. For one thread.
class driven_time final : public time_source {
 public:
  std::int64_t now_ns() const override { return now_; }
  void advance(std::int64_t ns) { now_ += ns; }
  /// Never back.
  void advance_to(std::int64_t ns) { now_ = ns > now_ ? ns : now_; }

 private:
  std::int64_t now_ = 1;
};

}  // namespace imbrex
