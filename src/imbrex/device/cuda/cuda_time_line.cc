#include "imbrex/device/cuda/cuda_time_line.h"

#include "imbrex/base/clock.h"
#include "imbrex/device/cuda/api/cuda_error.h"

namespace imbrex {

cuda_time_line::~cuda_time_line() {
  last_ = {};
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
}

cuda_anchor cuda_time_line::anchor() {
  constexpr std::int64_t recent_ns = 500'000'000;  // of which a float tells 30 ns
  const std::lock_guard lock(mutex_);
  const std::int64_t now = now_ns();
  if (last_.event != nullptr && now - last_.at_ns < recent_ns) return last_;
  if (stream_ == nullptr) check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
  cudaEvent_t e = nullptr;
  check_cuda(cudaEventCreate(&e), "creating an event with time");
  last_ = {{e, [](cudaEvent_t old) { static_cast<void>(cudaEventDestroy(old)); }}, now};
  check_cuda(cudaEventRecord(e, stream_), "recording an event");
  return last_;
}

}  // namespace imbrex
