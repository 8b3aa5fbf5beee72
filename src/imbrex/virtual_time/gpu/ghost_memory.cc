#include "imbrex/virtual_time/gpu/ghost_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "imbrex/base/error.h"

namespace imbrex {

namespace {
void* map(std::size_t bytes, int protection) {
  void* const p = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? nullptr : p;
}
}  // namespace

ghost_memory::ghost_memory(bool has_bytes) : has_bytes_(has_bytes) {
  if (has_bytes) return;
  constexpr std::size_t most = std::size_t{1} << 45, least = std::size_t{1} << 36;
  for (reserved_ = most; reserved_ >= least && start_ == nullptr;) {
    start_ = map(reserved_, PROT_NONE);
    if (start_ == nullptr) reserved_ /= 2;
  }
  if (start_ == nullptr) {
    throw out_of_memory(std::string("addresses for the memory of simulated GPUs are refused (") + std::strerror(errno) +
                        "): lift the limit of address space (ulimit -v), or use --imbrex-machine-data=on");
  }
}

ghost_memory::~ghost_memory() {
  if (start_ != nullptr) munmap(start_, reserved_);
  if (!has_bytes_) return;
  for (const auto& [at, p] : pieces_) munmap(reinterpret_cast<void*>(at), p.bytes);
}

void* ghost_memory::get(std::size_t bytes, const owner& whose) {
  void* memory = nullptr;
  if (has_bytes_) {
    memory = map(bytes, PROT_READ | PROT_WRITE);
  } else if (std::vector<void*>& old = given_back_[bytes]; !old.empty()) {
    memory = old.back();
    old.pop_back();
  } else if (used_ + bytes <= reserved_) {
    memory = static_cast<std::byte*>(start_) + used_;
    used_ += (bytes + 4095) / 4096 * 4096;
  }
  if (memory == nullptr) return nullptr;
  if (!has_bytes_ && whose.kind != memory_kind::device && mprotect(memory, bytes, PROT_READ | PROT_WRITE) != 0)
    return nullptr;
  pieces_[reinterpret_cast<std::uintptr_t>(memory)] = {bytes, whose};
  return memory;
}

void ghost_memory::give(void* memory, std::size_t bytes) {
  pieces_.erase(reinterpret_cast<std::uintptr_t>(memory));
  if (has_bytes_) {
    munmap(memory, bytes);
    return;
  }
  madvise(memory, bytes, MADV_DONTNEED);
  mprotect(memory, bytes, PROT_NONE);
  given_back_[bytes].push_back(memory);
}

ghost_memory::owner ghost_memory::of(const void* memory) const {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  auto at = pieces_.upper_bound(address);
  if (at == pieces_.begin()) return {};
  --at;
  return address < at->first + at->second.bytes ? at->second.whose : owner{};
}

bool ghost_memory::is_within_one_gpu(const void* a, const void* b) const {
  const owner one = of(a), other = of(b);
  return one.kind == memory_kind::device && other.kind == memory_kind::device && one.gpu == other.gpu;
}

}  // namespace imbrex
