#include "imbrex/device/cuda/api/cuda_heaps.h"

#if __has_include(<nvtx3/nvToolsExtMem.h>)

#include <atomic>
#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>

#include <nvtx3/nvToolsExtMem.h>

namespace imbrex {

namespace {

struct known_heaps {
  std::atomic<int> count{0};
  std::mutex mutex;
  std::map<std::uintptr_t, nvtxMemHeapHandle_t> by_base;
  nvtxDomainHandle_t domain = nvtxDomainCreateA("imbrex");
};

/// Never destroyed: pools may end after everything else.
known_heaps& heaps() {
  static auto* const all = new known_heaps;
  return *all;
}

}  // namespace

void cuda_heaps::add(void* slab, std::size_t bytes) {
  known_heaps& h = heaps();
  const nvtxMemVirtualRangeDesc_t where{bytes, slab};
  nvtxMemHeapDesc_t heap{};
  heap.extCompatID = NVTX_EXT_COMPATID_MEM;
  heap.structSize = sizeof heap;
  heap.usage = NVTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR;
  heap.type = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  heap.typeSpecificDescSize = sizeof where;
  heap.typeSpecificDesc = &where;
  const std::lock_guard lock(h.mutex);
  const nvtxMemHeapHandle_t handle = nvtxMemHeapRegister(h.domain, &heap);
  if (handle == nullptr || reinterpret_cast<std::intptr_t>(handle) == -1) return;  // there is no tool
  h.by_base.insert_or_assign(reinterpret_cast<std::uintptr_t>(slab), handle);
  h.count.store(static_cast<int>(h.by_base.size()), std::memory_order_relaxed);
}

void cuda_heaps::remove(void* slab) noexcept {
  known_heaps& h = heaps();
  if (h.count.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(h.mutex);
  const auto at = h.by_base.find(reinterpret_cast<std::uintptr_t>(slab));
  if (at == h.by_base.end()) return;
  nvtxMemHeapUnregister(h.domain, at->second);
  h.by_base.erase(at);
  h.count.store(static_cast<int>(h.by_base.size()), std::memory_order_relaxed);
}

void cuda_heaps::hand_out(void* part, std::size_t bytes) {
  known_heaps& h = heaps();
  if (h.count.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard lock(h.mutex);
  const auto after = h.by_base.upper_bound(reinterpret_cast<std::uintptr_t>(part));
  if (after == h.by_base.begin()) return;
  const nvtxMemVirtualRangeDesc_t where{bytes, part};
  nvtxMemRegionsRegisterBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.regionType = NVTX_MEM_TYPE_VIRTUAL_ADDRESS;
  batch.heap = std::prev(after)->second;
  batch.regionCount = 1;
  batch.regionDescElementSize = sizeof where;
  batch.regionDescElements = &where;
  nvtxMemRegionsRegister(h.domain, &batch);
}

void cuda_heaps::take_back(void* part) noexcept {
  known_heaps& h = heaps();
  if (h.count.load(std::memory_order_relaxed) == 0) return;
  nvtxMemRegionRef_t region{};
  region.pointer = part;
  nvtxMemRegionsUnregisterBatch_t batch{};
  batch.extCompatID = NVTX_EXT_COMPATID_MEM;
  batch.structSize = sizeof batch;
  batch.refType = NVTX_MEM_REGION_REF_TYPE_POINTER;
  batch.refCount = 1;
  batch.refElementSize = sizeof region;
  batch.refElements = &region;
  nvtxMemRegionsUnregister(h.domain, &batch);
}

}  // namespace imbrex

#else

namespace imbrex {

void cuda_heaps::add(void*, std::size_t) {}
void cuda_heaps::remove(void*) noexcept {}
void cuda_heaps::hand_out(void*, std::size_t) {}
void cuda_heaps::take_back(void*) noexcept {}

}  // namespace imbrex

#endif
