#pragma once

namespace imbrex {

/// Ranges of the calling thread as NVIDIA's profilers show them (NVTX), nested, under the names of the trace. Without a
/// profiler each costs a few nanoseconds; built without CUDA they do nothing.
void begin_profiler_range(const char* name);
void end_profiler_range();

}  // namespace imbrex
