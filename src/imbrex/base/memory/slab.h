#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbrex/base/memory/prefetch.h"
#include "imbrex/base/memory/thread_place.h"

/// Memory for messages, coroutine frames and pending operations: the small, short-lived blocks of the hot
/// paths. No system allocation, lock or atomic operation in steady state on one thread.
namespace imbrex {

/// One thread's block allocator. Blocks come in size classes up to 64 KiB, larger ones from the system; the thread that
/// frees a few of these keeps them for its next ones, since fresh memory costs a page fault for every 4 KiB.
/// A block may be freed on any thread: it goes back to its owner in batches.
/// Lifetime: every block must be freed before its slab is destroyed, and all threads that free into it ended.
class slab {
 public:
  static constexpr std::size_t alignment = 16;  ///< of every block

  slab();
  ~slab();
  slab(const slab&) = delete;
  slab& operator=(const slab&) = delete;

  /// Makes this the slab of the calling thread; the previous one's pending returns are sent home.
  void bind_to_this_thread();
  /// The calling thread has no slab from now on (allocations then come from the system).
  static void unbind_this_thread();
  /// Sends blocks of other threads, freed here, home now. Called when the thread has nothing else to do.
  static void flush_returns();

  /// Memory of at least `size` bytes, aligned to 16, from the calling thread's slab.
  [[gnu::always_inline]] static void* allocate(std::size_t size) {
    slab* mine = this_thread_;
    const int size_class = class_of(size);
    if (mine != nullptr && size_class < num_classes) [[likely]] {
      if (block* b = mine->free_[size_class]; b != nullptr) [[likely]] {
        block* following = b->next;
        mine->free_[size_class] = following;
        prefetch_for_write(following);  // often last touched by the PE that freed it
        prefetch_for_write(next_line(following));
        return reinterpret_cast<std::byte*>(b) + header_bytes;
      }
    }
    return allocate_slowly(size, size_class);
  }
  /// Returns memory from `allocate`; any thread.
  static void free(void* memory) noexcept {
    auto* b = reinterpret_cast<block*>(static_cast<std::byte*>(memory) - header_bytes);
    slab* mine = this_thread_;
    if (b->owner == mine && mine != nullptr) [[likely]] {
      b->next = mine->free_[b->size_class];
      mine->free_[b->size_class] = b;
    } else {
      free_elsewhere(b);
    }
  }

  /// Bytes that this slab took from the system so far (owner's thread).
  std::size_t bytes_reserved() const { return bytes_reserved_; }

 private:
  /// What stands before every block. While it is free, `next` links it into a list.
  struct block {
    slab* owner;  // null: from the system
    std::int32_t size_class;
    std::uint32_t pages;  // from the system: its size in units of 4 KiB
    block* next;          // overlaps the user's first bytes
  };
  struct returns;
  class spares;

  static constexpr std::size_t header_bytes = 16;
  static constexpr int num_classes = 48;

  // Classes: 16 to 256 in steps of 16 (0..15), then four to each doubling up to 64 KiB.
  static constexpr int class_of(std::size_t size) {
    if (size <= 256) return size == 0 ? 0 : static_cast<int>((size - 1) / 16);
    const int log = 63 - __builtin_clzll(size - 1);  // size in (2^log, 2^(log+1)], log >= 8
    return 16 + (log - 8) * 4 + static_cast<int>((size - 1) >> (log - 2) & 3);
  }
  static constexpr std::size_t class_size(int size_class) {
    if (size_class < 16) return static_cast<std::size_t>(size_class + 1) * 16;
    return static_cast<std::size_t>(5 + (size_class - 16) % 4) << (6 + (size_class - 16) / 4);
  }

  static void* allocate_slowly(std::size_t size, int size_class);
  static void free_elsewhere(block* b) noexcept;
  void* refill(int size_class);
  void collect_returned();
  void give_back(block* first, block* last) noexcept;

  IMBREX_THREAD_LOCAL slab* this_thread_;

  block* free_[num_classes] = {};
  std::byte* chunk_ = nullptr;
  std::size_t chunk_left_ = 0;
  std::size_t bytes_reserved_ = 0;
  std::vector<void*> chunks_;
  alignas(64) std::atomic<block*> returned_{nullptr};
};

}  // namespace imbrex
