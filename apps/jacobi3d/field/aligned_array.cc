#include "field/aligned_array.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "imbrex/base/error.h"

namespace jacobi {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t chunk_bytes = 16 * huge_page;
// Keeps arrays of equal size off equal cache sets, where the rows of a stencil's planes would crowd each other out.
constexpr std::size_t stagger = 5 * cache_line;

std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

std::shared_ptr<std::byte> huge_pages(std::size_t bytes) {
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(huge_page, round_up(bytes, huge_page)));
  if (memory == nullptr) {
    throw imbrex::out_of_memory("cannot allocate " + std::to_string(bytes) +
                                " bytes for a field: use a smaller grid or more ranks");
  }
  madvise(memory, round_up(bytes, huge_page), MADV_HUGEPAGE);  // a hint; refusal costs only speed
  return {memory, [](std::byte* m) { std::free(m); }};
}

/// What the calling thread cuts small arrays from: many blocks on few huge pages, as one large block would have.
struct chunk {
  std::shared_ptr<std::byte> memory;
  std::size_t used = chunk_bytes;
};
thread_local chunk current_chunk;

std::shared_ptr<std::byte> cut(std::size_t bytes) {
  if (bytes > chunk_bytes / 8) return huge_pages(bytes);
  if (current_chunk.used + bytes > chunk_bytes) current_chunk = {huge_pages(chunk_bytes), 0};
  std::byte* start = current_chunk.memory.get() + current_chunk.used;
  current_chunk.used += round_up(bytes, cache_line) + stagger;
  return {current_chunk.memory, start};
}

}  // namespace

aligned_array::aligned_array(std::int64_t size) : size_(size) {
  const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(double);
  memory_ = cut(bytes);
  data_ = reinterpret_cast<double*>(memory_.get());
  if (bytes > 0) std::memset(memory_.get(), 0, bytes);
}

aligned_array::aligned_array(aligned_array&& other) noexcept
    : memory_(std::move(other.memory_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

aligned_array& aligned_array::operator=(aligned_array&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace jacobi
