#include "imbrex/device/host/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/memory/sanitizer.h"
#include "imbrex/base/topology.h"

namespace imbrex {

namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
// Large blocks start at different places of their first huge page: loops over several of them would else have all they
// read and write in the same sets of the caches.
constexpr std::size_t stagger = 5 * 64, num_places = 13;

std::size_t round_up(std::size_t bytes, std::size_t step) { return (bytes + step - 1) / step * step; }

// At most a third of a huge page more.
bool is_large(std::size_t size) { return size >= huge_page / 4 * 3; }

void* from_system(std::size_t size, std::uint64_t number) {
  if (!is_large(size)) return std::aligned_alloc(64, size);
  const std::size_t all = size + num_places * stagger;
  void* memory = nullptr;
  if (posix_memalign(&memory, huge_page, all) != 0) return nullptr;
  madvise(memory, round_up(all, huge_page), MADV_HUGEPAGE);  // a hint; refusal costs only speed
  return static_cast<std::byte*>(memory) + number % num_places * stagger;
}

void to_system(void* memory, std::size_t size) {
  const std::size_t offset = is_large(size) ? reinterpret_cast<std::uintptr_t>(memory) % huge_page : 0;
  std::free(static_cast<std::byte*>(memory) - offset);
}

}  // namespace

host_memory::host_memory() : is_watched_(is_watched_by_address_sanitizer()) {}

host_memory::~host_memory() {
  for (auto& [size, blocks] : kept_) {
    for (void* b : blocks) to_system(b, size);
  }
}

// Few different sizes, so that blocks are found again: at most an eighth is wasted.
std::size_t host_memory::rounded(std::size_t bytes) {
  std::size_t step = 64;
  while (step * 16 < bytes) step *= 2;
  return round_up(std::max<std::size_t>(bytes, 1), step);
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
    memory = new_block(bytes);
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

void* host_memory::new_block(std::size_t bytes) {
  if (!is_watched_) return from_system(rounded(bytes), usage_.from_system);
  void* memory = nullptr;
  return posix_memalign(&memory, 64, std::max<std::size_t>(bytes, 1)) == 0 ? memory : nullptr;
}

void host_memory::free(void* memory, std::size_t bytes) noexcept {
  const std::size_t size = rounded(bytes);
  const std::lock_guard lock(mutex_);
  usage_.in_use -= size;
  if (is_watched_) return std::free(memory);
  if (usage_.kept + size > max_kept) {
    to_system(memory, size);
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
