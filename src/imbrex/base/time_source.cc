#include "imbrex/base/time_source.h"

namespace imbrex {

namespace {
struct machine_clock final : time_source {
  std::int64_t now_ns() const override { return imbrex::now_ns(); }
};
}  // namespace

const time_source& machine_time() {
  static const machine_clock clock;
  return clock;
}

}  // namespace imbrex
