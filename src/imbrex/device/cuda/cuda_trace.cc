#include "imbrex/device/cuda/cuda_trace.h"

#include <algorithm>

#include "imbrex/base/clock.h"
#include "imbrex/device/cuda/api/cuda_error.h"

namespace imbrex {

cuda_trace::~cuda_trace() {
  for (const span& s : spans_) {
    spare_.push_back(s.begin);
    if (s.end != nullptr) spare_.push_back(s.end);
  }
  if (anchor_ != nullptr) spare_.push_back(anchor_);
  for (cudaEvent_t e : spare_) static_cast<void>(cudaEventDestroy(e));
}

cudaEvent_t cuda_trace::take() {
  if (!spare_.empty()) {
    cudaEvent_t e = spare_.back();
    spare_.pop_back();
    return e;
  }
  gpu_.make_current();
  cudaEvent_t e = nullptr;
  check_cuda(cudaEventCreate(&e), "creating an event with time");
  return e;
}

void cuda_trace::begin(cudaStream_t s, const char* name, trace_category what) {
  if (!has_anchor_) {
    if (anchor_ == nullptr) anchor_ = take();
    check_cuda(cudaEventRecord(anchor_, s), "recording an event");
    check_cuda(cudaEventSynchronize(anchor_), "waiting for an event");
    anchored_at_ = now_ns();
    has_anchor_ = true;
  }
  const span opened{name, what, take(), nullptr};
  check_cuda(cudaEventRecord(opened.begin, s), "recording an event");
  spans_.push_back(opened);
}

void cuda_trace::end(cudaStream_t s) {
  spans_.back().end = take();
  check_cuda(cudaEventRecord(spans_.back().end, s), "recording an event");
}

std::int64_t cuda_trace::when(cudaEvent_t e) const {
  float milliseconds = 0;
  if (cudaEventElapsedTime(&milliseconds, anchor_, e) != cudaSuccess) return anchored_at_;
  return anchored_at_ + static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
}

void cuda_trace::collect() {
  while (!spans_.empty() && spans_.front().end != nullptr && cudaEventQuery(spans_.front().end) == cudaSuccess) {
    const span s = spans_.front();
    spans_.pop_front();
    const std::int64_t start = when(s.begin);
    track_.slice(s.name, s.what, start, std::max(start, when(s.end)));
    spare_.push_back(s.begin);
    spare_.push_back(s.end);
  }
}

}  // namespace imbrex
