#include "imbrex/base/slab.h"

#include <cstdlib>
#include <new>

#include "imbrex/base/sanitizer.h"

namespace imbrex {

namespace {
constexpr std::size_t chunk_bytes = std::size_t{1} << 18;
constexpr int system_class = -1;
constexpr int max_batch = 32;
}  // namespace

/// Blocks of one other slab that this thread freed and has not yet sent home.
struct slab::returns {
  static constexpr int num_ways = 8;
  struct batch {
    slab* owner = nullptr;
    block* first = nullptr;
    block* last = nullptr;
    int count = 0;
  };

  void add(block* b) {
    batch& way = ways[(reinterpret_cast<std::uintptr_t>(b->owner) >> 7) % num_ways];
    if (way.owner != b->owner) {
      send(way);
      way.owner = b->owner;
    }
    b->next = way.first;
    way.first = b;
    if (way.last == nullptr) way.last = b;
    if (++way.count >= max_batch) send(way);
  }
  void send(batch& way) noexcept {
    if (way.first != nullptr) way.owner->give_back(way.first, way.last);
    way = batch{};
  }
  void flush() noexcept {
    for (batch& way : ways) send(way);
  }

  batch ways[num_ways];
};

thread_local constinit slab* slab::this_thread_ = nullptr;

// The type is private to slab.
static thread_local constinit void* this_thread_returns = nullptr;

slab::slab() = default;

slab::~slab() {
  for (void* chunk : chunks_) std::free(chunk);
}

void slab::bind_to_this_thread() {
  unbind_this_thread();
  if (!address_sanitizer) this_thread_ = this;  // else every block comes from the system, where it is watched
  this_thread_returns = new returns;
}

void slab::unbind_this_thread() {
  flush_returns();
  delete static_cast<returns*>(this_thread_returns);
  this_thread_returns = nullptr;
  this_thread_ = nullptr;
}

void slab::flush_returns() {
  if (this_thread_returns != nullptr) static_cast<returns*>(this_thread_returns)->flush();
}

void* slab::allocate_slowly(std::size_t size, int size_class) {
  slab* mine = this_thread_;
  if (mine != nullptr && size_class < num_classes) return mine->refill(size_class);
  auto* b = static_cast<block*>(std::malloc(header_bytes + (size < 16 ? 16 : size)));
  if (b == nullptr) throw std::bad_alloc();
  b->owner = nullptr;
  b->size_class = system_class;
  return reinterpret_cast<std::byte*>(b) + header_bytes;
}

void slab::free_elsewhere(block* b) noexcept {
  if (b->owner == nullptr) {
    std::free(b);
  } else if (this_thread_returns != nullptr) {
    static_cast<returns*>(this_thread_returns)->add(b);
  } else {
    b->owner->give_back(b, b);
  }
}

void* slab::refill(int size_class) {
  collect_returned();
  if (block* b = free_[size_class]) {
    free_[size_class] = b->next;
    return reinterpret_cast<std::byte*>(b) + header_bytes;
  }
  const std::size_t size = header_bytes + class_size(size_class);
  if (chunk_left_ < size) {
    const std::size_t wanted = size > chunk_bytes / 4 ? size : chunk_bytes;
    void* fresh = std::malloc(wanted);
    if (fresh == nullptr) throw std::bad_alloc();
    chunks_.push_back(fresh);
    bytes_reserved_ += wanted;
    chunk_ = static_cast<std::byte*>(fresh);
    chunk_left_ = wanted;
  }
  auto* b = reinterpret_cast<block*>(chunk_);
  chunk_ += size;
  chunk_left_ -= size;
  b->owner = this;
  b->size_class = size_class;
  return reinterpret_cast<std::byte*>(b) + header_bytes;
}

void slab::collect_returned() {
  block* b = returned_.exchange(nullptr, std::memory_order_acquire);
  while (b != nullptr) {
    block* next = b->next;
    b->next = free_[b->size_class];
    free_[b->size_class] = b;
    b = next;
  }
}

void slab::give_back(block* first, block* last) noexcept {
  block* head = returned_.load(std::memory_order_relaxed);
  do {
    last->next = head;
  } while (!returned_.compare_exchange_weak(head, first, std::memory_order_release, std::memory_order_relaxed));
}

}  // namespace imbrex
