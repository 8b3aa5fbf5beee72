#include "imbrex/device/host_memory.h"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/topology.h"

namespace imbrex {

host_memory::~host_memory() {
  for (auto& [size, blocks] : kept_) {
    for (void* b : blocks) std::free(b);
  }
}

// Few different sizes, so that blocks are found again: at most an eighth is wasted.
std::size_t host_memory::rounded(std::size_t bytes) {
  std::size_t step = 64;
  while (step * 16 < bytes) step *= 2;
  return (std::max<std::size_t>(bytes, 1) + step - 1) / step * step;
}

void* host_memory::allocate(std::size_t bytes) {
  const std::size_t size = rounded(bytes);
  const std::lock_guard lock(mutex_);
  void* memory = nullptr;
  if (auto at = kept_.find(size); at != kept_.end() && !at->second.empty()) {
    memory = at->second.back();
    at->second.pop_back();
    usage_.kept -= size;
  } else {
    memory = std::aligned_alloc(64, size);
    if (memory == nullptr) {
      throw out_of_memory(
          fmt::format("no host memory for a buffer of {} bytes: {} bytes are in use by buffers, about {} free; "
                      "use a smaller problem or more ranks",
                      bytes, usage_.in_use, available_host_memory()));
    }
    ++usage_.from_system;
  }
  usage_.in_use += size;
  usage_.high_water = std::max(usage_.high_water, usage_.in_use);
  return memory;
}

void host_memory::free(void* memory, std::size_t bytes) noexcept {
  const std::size_t size = rounded(bytes);
  const std::lock_guard lock(mutex_);
  usage_.in_use -= size;
  if (usage_.kept + size > max_kept) {
    std::free(memory);
    return;
  }
  kept_[size].push_back(memory);
  usage_.kept += size;
}

host_memory::usage host_memory::used() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

}  // namespace imbrex
