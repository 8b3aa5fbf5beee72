#include "imbrex/device/cuda_shared_memory.h"

#include <cuda_runtime_api.h>

#include <cstring>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/device/cuda_error.h"
#include "imbrex/device/cuda_gpu.h"

namespace imbrex {

cuda_shared_memory::~cuda_shared_memory() {
  for (const auto& [handle, base] : opened_) static_cast<void>(cudaIpcCloseMemHandle(base));
  for (const auto* events : {&events_, &opened_events_})
    for (const auto& [handle, event] : *events) static_cast<void>(cudaEventDestroy(event));
}

bool cuda_shared_memory::share(const void* memory, shared_memory& as) {
  const slab_pool::slab_span slab = gpu_.pool().slab_of(memory);
  if (!slab) return false;
  const std::lock_guard lock(mutex_);
  if (refused_) return false;
  auto at = exported_.find(slab.base);
  if (at == exported_.end()) {
    gpu_.make_current();
    cudaIpcMemHandle_t native;
    const cudaError_t status = cudaIpcGetMemHandle(&native, slab.base);
    if (status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      refused_ = true;
      log_info(fmt::format("GPU {} cannot give its memory to other processes ({}): data go through the host",
                           gpu_.number(), cuda_error_text(status)));
      return false;
    }
    std::vector<std::byte> handle(sizeof native);
    std::memcpy(handle.data(), &native, sizeof native);
    at = exported_.emplace(slab.base, std::move(handle)).first;
  }
  as.handle = at->second;
  as.offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(memory) - static_cast<std::byte*>(slab.base));
  return true;
}

bool cuda_shared_memory::take_event(shared_point& as, cudaEvent_t& event) {
  const std::lock_guard lock(mutex_);
  if (refused_) return false;
  if (!spare_events_.empty()) {
    as.handle = std::move(spare_events_.back());
    spare_events_.pop_back();
    event = events_.at(as.handle);
    return true;
  }
  gpu_.make_current();
  check_cuda(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventInterprocess),
             "creating an event for other processes");
  cudaIpcEventHandle_t native;
  if (cudaIpcGetEventHandle(&native, event) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    static_cast<void>(cudaEventDestroy(event));
    refused_ = true;
    return false;
  }
  as.handle.resize(sizeof native);
  std::memcpy(as.handle.data(), &native, sizeof native);
  events_.emplace(as.handle, event);
  return true;
}

void cuda_shared_memory::give_back(const shared_point& p) {
  if (p.handle.empty()) return;
  const std::lock_guard lock(mutex_);
  spare_events_.push_back(p.handle);
}

cudaEvent_t cuda_shared_memory::open_event(const shared_point& p) {
  const std::lock_guard lock(mutex_);
  const auto found = opened_events_.find(p.handle);
  if (found != opened_events_.end()) return found->second;
  cudaIpcEventHandle_t native;
  if (p.handle.size() != sizeof native)
    throw device_error(fmt::format("a handle of {} bytes names no event of a GPU", p.handle.size()));
  std::memcpy(&native, p.handle.data(), sizeof native);
  gpu_.make_current();
  cudaEvent_t event = nullptr;
  check_cuda(cudaIpcOpenEventHandle(&event, native), "opening an event of another process");
  opened_events_.emplace(p.handle, event);
  return event;
}

const std::byte* cuda_shared_memory::open(const shared_memory& m) {
  const std::lock_guard lock(mutex_);
  auto at = opened_.find(m.handle);
  if (at == opened_.end()) {
    cudaIpcMemHandle_t native;
    if (m.handle.size() != sizeof native)
      throw device_error(fmt::format("a handle of {} bytes names no memory of a GPU", m.handle.size()));
    std::memcpy(&native, m.handle.data(), sizeof native);
    gpu_.make_current();
    void* base = nullptr;
    const cudaError_t status = cudaIpcOpenMemHandle(&base, native, cudaIpcMemLazyEnablePeerAccess);
    if (status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      throw device_error(fmt::format("GPU {} cannot open memory of another process ({}): use --imbrex-protocol=staged",
                                     gpu_.number(), cuda_error_text(status)));
    }
    ++num_opened_;
    at = opened_.emplace(m.handle, base).first;
  }
  return static_cast<const std::byte*>(at->second) + m.offset;
}

}  // namespace imbrex
