#include "imbrex/device/cuda/cuda_meter.h"

#include <algorithm>

#include "imbrex/device/cuda/api/cuda_error.h"

namespace imbrex {

cuda_meter::~cuda_meter() {
  forget();
  for (auto& [gpu, own] : gpus_) {
    for (cudaEvent_t e : own.spare) static_cast<void>(cudaEventDestroy(e));
  }
}

void cuda_meter::forget() {
  for (const stamps& s : taken_) {
    gpus_[s.gpu].spare.push_back(s.begin);
    if (s.end != nullptr) gpus_[s.gpu].spare.push_back(s.end);
  }
  taken_.clear();
}

void cuda_meter::measure(std::size_t most) {
  forget();
  for (auto& [gpu, own] : gpus_) own.anchor = {};
  taken_.reserve(most);
  left_ = most;
}

cudaEvent_t cuda_meter::take(cuda_gpu& gpu) {
  std::vector<cudaEvent_t>& spare = gpus_[&gpu].spare;
  if (!spare.empty()) {
    cudaEvent_t e = spare.back();
    spare.pop_back();
    return e;
  }
  cudaEvent_t e = nullptr;
  check_cuda(cudaEventCreate(&e), "creating an event with time");
  return e;
}

bool cuda_meter::begin(cuda_gpu& gpu, cudaStream_t s) {
  if (pe_.acting() == nullptr) return false;
  of_gpu& own = gpus_[&gpu];
  if (own.anchor.event == nullptr) own.anchor = gpu.time_line().anchor();
  --left_;
  const stamps opened{pe_.acting(), &gpu, take(gpu), nullptr};
  taken_.push_back(opened);
  check_cuda(cudaEventRecord(opened.begin, s), "recording an event");
  return true;
}

void cuda_meter::end(cudaStream_t s) {
  stamps& last = taken_.back();
  last.end = take(*last.gpu);
  check_cuda(cudaEventRecord(last.end, s), "recording an event");
}

std::vector<device_operation> cuda_meter::measured() {
  left_ = 0;
  std::vector<device_operation> all;
  all.reserve(taken_.size());
  for (const stamps& s : taken_) {
    if (s.end == nullptr || cudaEventQuery(s.end) != cudaSuccess) continue;
    const cuda_anchor& anchor = gpus_[s.gpu].anchor;
    const auto when = [&](cudaEvent_t e) {
      float milliseconds = 0;
      check_cuda(cudaEventElapsedTime(&milliseconds, anchor.event.get(), e), "reading an event's time");
      return anchor.at_ns + static_cast<std::int64_t>(static_cast<double>(milliseconds) * 1e6);
    };
    all.push_back({s.of, s.gpu->number(), when(s.begin), when(s.end)});
  }
  forget();
  return all;
}

}  // namespace imbrex
