#include <nvtx3/nvToolsExt.h>

#include "imbrex/base/profiler_range.h"

namespace imbrex {

void begin_profiler_range(const char* name) { nvtxRangePushA(name); }
void end_profiler_range() { nvtxRangePop(); }

}  // namespace imbrex
