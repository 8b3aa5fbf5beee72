#include "imbrex/base/profiler_range.h"

#include "imbrex/base/build_config.h"

#if IMBREX_HAVE_CUDA
#include <nvtx3/nvToolsExt.h>
#endif

namespace imbrex {

#if IMBREX_HAVE_CUDA
void begin_profiler_range(const char* name) { nvtxRangePushA(name); }
void end_profiler_range() { nvtxRangePop(); }
#else
void begin_profiler_range(const char*) {}
void end_profiler_range() {}
#endif

}  // namespace imbrex
