#include "imbrex/device/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/topology.h"

namespace imbrex {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t round_up(std::size_t bytes, std::size_t step) { return (bytes + step - 1) / step * step; }

void* from_system(std::size_t size) {
  if (size % huge_page != 0) return std::aligned_alloc(64, size);
  void* const memory = std::aligned_alloc(huge_page, size);
  if (memory != nullptr) madvise(memory, size, MADV_HUGEPAGE);  // a hint; refusal costs only speed
  return memory;
}

}  // namespace

host_memory::~host_memory() {
  for (auto& [size, blocks] : kept_) {
    for (void* b : blocks) std::free(b);
  }
}

// Few different sizes, so that blocks are found again: at most an eighth is wasted. Large ones are whole huge pages.
std::size_t host_memory::rounded(std::size_t bytes) {
  std::size_t step = 64;
  while (step * 16 < bytes) step *= 2;
  const std::size_t size = round_up(std::max<std::size_t>(bytes, 1), step), large = round_up(size, huge_page);
  return large - size <= size / 8 ? large : size;
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
    memory = from_system(size);
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
