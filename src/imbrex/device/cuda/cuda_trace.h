#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <deque>
#include <vector>

#include "imbrex/device/cuda/cuda_gpu.h"
#include "imbrex/trace/trace.h"

namespace imbrex {

/// What a stream does on its GPU's own time line, for a trace, where cuda_activity.h cannot tell: events with time
/// stand before and after every operation. This costs some microseconds for each operation, so a traced run is slower
/// than another.
class cuda_trace {
 public:
  cuda_trace(cuda_gpu& gpu, trace_track& track) : gpu_(gpu), track_(track) {}
  ~cuda_trace();

  /// Around the enqueueing of an operation. `name` has static lifetime.
  void begin(cudaStream_t s, const char* name, trace_category what);
  void end(cudaStream_t s);
  /// Gives the operations that have finished to the track.
  void collect();
  /// The stream is empty: times are told from a new anchor from now on.
  void lose_anchor() { has_anchor_ = !spans_.empty(); }

 private:
  struct span {
    const char* name;
    trace_category what;
    cudaEvent_t begin, end;
  };
  cudaEvent_t take();
  std::int64_t when(cudaEvent_t e) const;

  cuda_gpu& gpu_;
  trace_track& track_;
  std::deque<span> spans_;
  std::vector<cudaEvent_t> spare_;
  cudaEvent_t anchor_ = nullptr;  ///< was passed at `anchored_at_` of the host's clock
  std::int64_t anchored_at_ = 0;
  bool has_anchor_ = false;
};

}  // namespace imbrex
