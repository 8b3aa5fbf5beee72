// Memory, and that of other processes.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "fake_machine.h"
#include "imbrex/device/cuda/api/cuda_driver.h"

using namespace fake_cuda;

namespace {

/// Addresses are used again as soon as they are free.
void* map_memory(machine& m, std::size_t bytes, int file) {
  auto& spare = m.freed_addresses[bytes];
  if (spare.empty()) return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  void* const again = spare.back();
  spare.pop_back();
  return mmap(again, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0);
}

cudaError_t allocate_on_gpu(void** made, std::size_t bytes, int gpu, origin by) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  std::size_t& used = m.used[static_cast<std::size_t>(gpu)];
  const std::size_t size = (bytes + 4095) / 4096 * 4096;
  if (used + size > m.what.bytes) return result(cudaErrorMemoryAllocation);
  const int file = memfd_create("fake memory of a GPU", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) return result(cudaErrorMemoryAllocation);
  *made = map_memory(m, size, file);
  used += size;
  m.allocations[reinterpret_cast<std::uintptr_t>(*made)] = {size, gpu, file, false, by};
  return cudaSuccess;
}

bool all_idle(machine& m) {
  const std::lock_guard lock(m.mutex);
  for (auto& s : m.streams) {
    if (!is_idle(*s)) return false;
  }
  return true;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** made, std::size_t bytes) {
  count_call("cudaMalloc");
  return allocate_on_gpu(made, bytes, current_gpu, origin::cuda_malloc);
}
cudaError_t cudaMallocAsync(void** made, std::size_t bytes, cudaStream_t s) {
  return allocate_on_gpu(made, bytes, of(s)->gpu, origin::pool);
}
cudaError_t cudaMallocManaged(void** made, std::size_t bytes, unsigned) {
  return allocate_on_gpu(made, bytes, current_gpu, origin::managed);
}

/// Of the pool that a GPU has from the start, whose handle tells the GPU.
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* wanted, std::size_t count) {
  count_call("cudaMemPoolSetAccess");
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  if (!m.what.shares_pools) return result(cudaErrorNotSupported);
  const int gpu = static_cast<int>(reinterpret_cast<std::uintptr_t>(pool)) - 1;
  for (std::size_t i = 0; i < count; ++i) m.pool_access.emplace(wanted[i].location.id, gpu);
  return cudaSuccess;
}

/// As NVIDIA's: when nothing runs on the GPUs.
cudaError_t cudaFree(void* memory) {
  count_call("cudaFree");
  machine& m = the_machine();
  block("cudaFree", [&m] { return all_idle(m); });
  const std::lock_guard lock(m.mutex);
  const auto found = m.allocations.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == m.allocations.end()) return result(cudaErrorInvalidValue);
  const allocation a = found->second;
  m.used[static_cast<std::size_t>(a.gpu)] -= a.bytes;
  close(a.file);
  mmap(memory, a.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  m.freed_addresses[a.bytes].push_back(memory);
  m.allocations.erase(found);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** made, std::size_t bytes, unsigned) {
  count_call("cudaHostAlloc");
  machine& m = the_machine();
  *made = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  if (*made == nullptr) return result(cudaErrorMemoryAllocation);
  const std::lock_guard lock(m.mutex);
  m.allocations[reinterpret_cast<std::uintptr_t>(*made)] = {bytes, -1, -1, false};
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  count_call("cudaFreeHost");
  machine& m = the_machine();
  block("cudaFreeHost", [&m] { return all_idle(m); });
  const std::lock_guard lock(m.mutex);
  m.allocations.erase(reinterpret_cast<std::uintptr_t>(memory));
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  *total = m.what.bytes;
  *free = m.what.bytes - m.used[static_cast<std::size_t>(current_gpu)];
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* a, const void* memory) {
  count_call("cudaPointerGetAttributes");
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  const allocation* const found = find(memory);
  *a = {};
  a->type = found == nullptr               ? cudaMemoryTypeUnregistered
            : found->gpu < 0               ? cudaMemoryTypeHost
            : found->by == origin::managed ? cudaMemoryTypeManaged
                                           : cudaMemoryTypeDevice;
  a->device = found != nullptr ? found->gpu : -1;
  return cudaSuccess;
}

/// The handle tells the address and nothing else: of two allocations that lay there one after the other it is the same.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  count_call("cudaIpcGetMemHandle");
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  if (!m.what.shares_memory) return result(cudaErrorNotSupported);
  const auto found = m.allocations.find(reinterpret_cast<std::uintptr_t>(memory));
  if (found == m.allocations.end() || found->second.gpu < 0 || found->second.by != origin::cuda_malloc)
    return result(cudaErrorInvalidValue);
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &memory, sizeof memory);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void** opened, cudaIpcMemHandle_t handle, unsigned) {
  count_call("cudaIpcOpenMemHandle");
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  if (!m.what.opens_memory) return result(cudaErrorNotSupported);
  void* base = nullptr;
  std::memcpy(&base, &handle, sizeof base);
  const auto found = m.allocations.find(reinterpret_cast<std::uintptr_t>(base));
  if (found == m.allocations.end()) return result(cudaErrorInvalidResourceHandle);
  const allocation a = found->second;
  *opened = mmap(nullptr, a.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, a.file, 0);
  m.allocations[reinterpret_cast<std::uintptr_t>(*opened)] = {a.bytes, a.gpu, -1, true};
  return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void* opened) {
  count_call("cudaIpcCloseMemHandle");
  machine& m = the_machine();
  block("cudaIpcCloseMemHandle", [&m] { return all_idle(m); });
  const std::lock_guard lock(m.mutex);
  const auto found = m.allocations.find(reinterpret_cast<std::uintptr_t>(opened));
  if (found == m.allocations.end() || !found->second.opened) return result(cudaErrorInvalidResourceHandle);
  munmap(opened, found->second.bytes);
  m.allocations.erase(found);
  return cudaSuccess;
}

}  // extern "C"

namespace imbrex::cuda_driver {

allocation allocation_of(const void* memory) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  auto after = m.allocations.upper_bound(address);
  if (after == m.allocations.begin()) return {};
  const auto& [start, a] = *--after;
  if (address - start >= a.bytes) return {};
  const bool is_device = a.gpu >= 0;
  return {reinterpret_cast<const std::byte*>(start), a.bytes, is_device && a.by == origin::cuda_malloc,
          is_device && a.by == origin::pool
              ? reinterpret_cast<cudaMemPool_t>(std::uintptr_t{1} + static_cast<unsigned>(a.gpu))
              : nullptr};
}

}  // namespace imbrex::cuda_driver
