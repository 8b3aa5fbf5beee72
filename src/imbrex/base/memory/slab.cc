#include "imbrex/base/memory/slab.h"

#include <cstdlib>
#include <new>
#include <utility>

#include "imbrex/base/memory/sanitizer.h"

namespace imbrex {

namespace {
constexpr std::size_t chunk_bytes = std::size_t{1} << 18;
constexpr std::size_t ahead_bytes = 2048;  // of new small blocks that are cut off a chunk at a time
constexpr std::size_t small_bytes = 192;   // larger ones one by one: a line of each, touched too early, costs more
constexpr int system_class = -1;
constexpr int max_batch = 32;
constexpr std::size_t page_bytes = 4096;
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
  spares* large = nullptr;
};

/// Large blocks that this thread has freed and will use again.
class slab::spares {
 public:
  static constexpr std::uint64_t most_bytes = std::uint64_t{128} << 20;

  ~spares() {
    for (block* b : blocks_) std::free(b);
  }
  /// The smallest that is large enough, and not far too large; null when there is none.
  block* take(std::uint32_t pages) {
    block** best = nullptr;
    for (block*& b : blocks_) {
      if (b == nullptr || b->pages < pages || b->pages > 2 * pages) continue;
      if (best == nullptr || b->pages < (*best)->pages) best = &b;
    }
    if (best == nullptr) return nullptr;
    pages_ -= (*best)->pages;
    return std::exchange(*best, nullptr);
  }
  /// At most 128 MiB in all; the blocks kept longest go first.
  void keep(block* b) noexcept {
    while (blocks_[next_] != nullptr || pages_ + b->pages > most_pages) drop_next();
    blocks_[next_] = b;
    pages_ += b->pages;
    next_ = (next_ + 1) % count;
  }

 private:
  static constexpr int count = 16;
  static constexpr std::uint64_t most_pages = most_bytes / page_bytes;

  void drop_next() noexcept {  // the one kept longest
    if (block* b = std::exchange(blocks_[next_], nullptr); b != nullptr) {
      pages_ -= b->pages;
      std::free(b);
    }
    next_ = (next_ + 1) % count;
  }

  block* blocks_[count] = {};
  int next_ = 0;
  std::uint64_t pages_ = 0;
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
  auto* r = new returns;
  if (!is_watched_by_address_sanitizer()) {  // else every block comes from the system
    this_thread_ = this;
    r->large = new spares;
  }
  this_thread_returns = r;
}

void slab::unbind_this_thread() {
  flush_returns();
  if (auto* r = static_cast<returns*>(this_thread_returns); r != nullptr) {
    delete r->large;
    delete r;
  }
  this_thread_returns = nullptr;
  this_thread_ = nullptr;
}

void slab::flush_returns() {
  if (this_thread_returns != nullptr) static_cast<returns*>(this_thread_returns)->flush();
}

void* slab::allocate_slowly(std::size_t size, int size_class) {
  slab* mine = this_thread_;
  if (mine != nullptr && size_class < num_classes) return mine->refill(size_class);
  const std::size_t bytes = header_bytes + (size < 16 ? 16 : size);
  if (bytes < size) throw std::bad_alloc();
  auto* const r = static_cast<returns*>(this_thread_returns);
  const bool kept = size_class >= num_classes && bytes <= spares::most_bytes && r != nullptr && r->large != nullptr;
  const auto pages = static_cast<std::uint32_t>(kept ? (bytes + page_bytes - 1) / page_bytes : 0);
  if (block* b = kept ? r->large->take(pages) : nullptr; b != nullptr)
    return reinterpret_cast<std::byte*>(b) + header_bytes;
  auto* b = static_cast<block*>(std::malloc(kept ? pages * page_bytes : bytes));
  if (b == nullptr) throw std::bad_alloc();
  b->owner = nullptr;
  b->size_class = system_class;
  b->pages = pages;
  return reinterpret_cast<std::byte*>(b) + header_bytes;
}

void slab::free_elsewhere(block* b) noexcept {
  if (b->owner == nullptr) {
    auto* const r = static_cast<returns*>(this_thread_returns);
    if (b->pages != 0 && r != nullptr && r->large != nullptr) return r->large->keep(b);
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
  auto cut = [&] {
    auto* b = reinterpret_cast<block*>(chunk_);
    chunk_ += size;
    chunk_left_ -= size;
    b->owner = this;
    b->size_class = size_class;
    return b;
  };
  block* const first = cut();
  block** last = &free_[size_class];
  for (std::size_t cut_off = size; size < small_bytes && cut_off < ahead_bytes && chunk_left_ >= size;
       cut_off += size) {
    *last = cut();
    last = &(*last)->next;
  }
  *last = nullptr;
  return reinterpret_cast<std::byte*>(first) + header_bytes;
}

void slab::collect_returned() {
  if (returned_.load(std::memory_order_relaxed) == nullptr) return;
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
