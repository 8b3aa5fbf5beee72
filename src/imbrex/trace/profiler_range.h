#pragma once

#include "imbrex/base/build_config.h"

namespace imbrex {

/// Ranges of the calling thread as NVIDIA's profilers show them (NVTX), nested, under the names of the trace. Without a
/// profiler each costs a few nanoseconds; built without CUDA they do nothing.
#if IMBREX_HAVE_CUDA
void begin_profiler_range(const char* name);
void end_profiler_range();
#else
inline void begin_profiler_range(const char*) {}
inline void end_profiler_range() {}
#endif

}  // namespace imbrex
