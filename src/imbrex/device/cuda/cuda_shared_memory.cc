#include "imbrex/device/cuda/cuda_shared_memory.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <random>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"
#include "imbrex/base/log.h"
#include "imbrex/device/cuda/api/cuda_error.h"
#include "imbrex/device/cuda/cuda_gpu.h"

namespace imbrex {

namespace {

/// A number that no other process and no other call gives.
std::uint64_t unique_number() {
  static const std::uint64_t of_process = [] {
    std::random_device source;
    return (std::uint64_t{source()} << 32) ^ source();
  }();
  static std::atomic<std::uint64_t> last{0};
  return mix(of_process + ++last);
}

}  // namespace

cuda_shared_memory::cuda_shared_memory(cuda_gpu& gpu) : gpu_(gpu) { dropped_.owner = unique_number(); }

cuda_shared_memory::~cuda_shared_memory() {
  for (const auto& [allocation, base] : opened_) static_cast<void>(cudaIpcCloseMemHandle(base));
  for (void* base : to_close_) static_cast<void>(cudaIpcCloseMemHandle(base));
}

bool cuda_shared_memory::share(const void* memory, shared_memory& as) {
  const void* base = gpu_.pool().slab_of(memory).base;
  const bool is_own = base != nullptr;
  if (!is_own) base = gpu_.adopted().shareable_at(memory);
  if (base == nullptr) return false;
  const std::lock_guard lock(mutex_);
  if (refused_) return false;
  auto at = exported_.find(base);
  if (at == exported_.end()) {
    gpu_.make_current();
    cudaIpcMemHandle_t native;
    const cudaError_t status = cudaIpcGetMemHandle(&native, const_cast<void*>(base));
    if (status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      refused_ = is_own;
      log_info(fmt::format("GPU {} cannot give its memory to other processes ({}): data go through the host",
                           gpu_.number(), cuda_error_text(status)));
      return false;
    }
    shared_handle handle;
    static_assert(sizeof native <= sizeof handle.bytes);
    std::memcpy(handle.bytes.data(), &native, sizeof native);
    handle.size = sizeof native;
    handle.of = gpu_.identity();
    handle.allocation = unique_number();
    at = exported_.emplace(base, handle).first;
  }
  as.handle = at->second;
  as.offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(memory) - static_cast<const std::byte*>(base));
  as.dropped = dropped_;
  return true;
}

void cuda_shared_memory::forget(const void* slab) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = exported_.find(slab);
  if (at == exported_.end()) return;
  dropped_.last[dropped_.total++ % dropped_allocations::most] = at->second.allocation;
  exported_.erase(at);
}

const std::byte* cuda_shared_memory::open(const shared_memory& m) {
  const std::lock_guard lock(mutex_);
  if (m.dropped.total != 0) take_news(m.dropped);
  if (!to_close_.empty()) close_dropped();
  auto at = opened_.find(m.handle.allocation);
  if (at == opened_.end()) {
    at = opened_.emplace(m.handle.allocation, open_native(m.handle)).first;
    ++num_opened_;
  }
  return static_cast<const std::byte*>(at->second) + m.offset;
}

void* cuda_shared_memory::open_native(const shared_handle& handle) {
  if (gone_.contains(handle.allocation))
    throw device_error("memory of another process was to be read where it is, but has been given back meanwhile");
  cudaIpcMemHandle_t native;
  if (handle.size != sizeof native)
    throw device_error(fmt::format("a handle of {} bytes names no memory of a GPU", handle.size));
  std::memcpy(&native, handle.bytes.data(), sizeof native);
  gpu_.make_current();
  void* base = nullptr;
  const cudaError_t status = cudaIpcOpenMemHandle(&base, native, cudaIpcMemLazyEnablePeerAccess);
  if (status != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    throw device_error(fmt::format("GPU {} cannot open memory of another process ({}): use --imbrex-protocol=staged",
                                   gpu_.number(), cuda_error_text(status)));
  }
  return base;
}

// Nothing here reads it any more: its owner gave it back when all that was lent of it had come home.
void cuda_shared_memory::take_news(const dropped_allocations& news) {
  std::uint32_t& known = known_drops_[news.owner];
  const auto behind = static_cast<std::uint32_t>(news.total - known);
  if (behind == 0 || behind > UINT32_MAX / 2) return;  // older news that have been overtaken
  for (std::uint32_t i = news.total - std::min<std::uint32_t>(behind, dropped_allocations::most); i != news.total;
       ++i) {
    const std::uint64_t allocation = news.last[i % dropped_allocations::most];
    gone_.insert(allocation);
    if (const auto at = opened_.find(allocation); at != opened_.end()) {
      to_close_.push_back(at->second);
      opened_.erase(at);
    }
  }
  known = news.total;
}

// Closing may wait for the GPU.
void cuda_shared_memory::close_dropped() noexcept {
  if (gpu_.gates().any()) return;
  gpu_.make_current();
  for (void* base : to_close_) {
    if (cudaIpcCloseMemHandle(base) != cudaSuccess) static_cast<void>(cudaGetLastError());
  }
  to_close_.clear();
}

}  // namespace imbrex
