#include <nvtx3/nvToolsExt.h>

#include "imbrex/trace/profiler_range.h"

namespace imbrex {

namespace {
/// NVTX prepares itself in the first call, without a lock: let one thread do that.
void prepare() {
  static const bool once = (nvtxInitialize(nullptr), true);
  static_cast<void>(once);
}
}  // namespace

void begin_profiler_range(const char* name) {
  prepare();
  nvtxRangePushA(name);
}

void end_profiler_range() { nvtxRangePop(); }

}  // namespace imbrex
