#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace imbrex {

/// Where a `slab_pool` gets its slabs: a GPU, pinned host memory. Called with the lock of the pool held, but for
/// `give`: it must not call the pool.
class memory_source {
 public:
  virtual ~memory_source() = default;
  /// Memory aligned to the alignment of the pool, or null when there is none.
  virtual void* get(std::size_t bytes) = 0;
  /// Takes back what `get(bytes)` returned; whatever was registered for the slab ends here. May block, and be called by
  /// several threads at a time. Does not throw.
  virtual void give(void* memory, std::size_t bytes) = 0;
  /// Why nothing may be given back now; empty: it may.
  virtual std::string why_kept() { return {}; }
  /// About how much `get` could still return in all.
  virtual std::uint64_t free_bytes() = 0;
  /// For messages: "GPU 0 (NVIDIA H200)".
  virtual std::string name() = 0;
  /// \name Parts of what `get` returned, for tools that watch them
  ///@{
  virtual void hands_out(void* part, std::size_t bytes) { static_cast<void>(part), static_cast<void>(bytes); }
  virtual void takes_back(void* part) noexcept { static_cast<void>(part); }
  ///@}
};

/// Parts of few large slabs of memory that the CPU never touches: all bookkeeping is elsewhere. A part is the best fit
/// among the free ranges, what is freed joins its neighbours, and slabs are kept, so that in steady state nothing is
/// asked from the source. Any thread; O(log n) where the source is not asked.
class slab_pool {
 public:
  static constexpr std::size_t default_slab_bytes = std::size_t{256} << 20;
  static constexpr std::size_t default_alignment = 512;

  struct usage {
    std::uint64_t in_use = 0;        ///< bytes handed out now, in units of the alignment
    std::uint64_t high_water = 0;    ///< the most that ever was
    std::uint64_t from_source = 0;   ///< bytes of the slabs held now
    std::uint64_t slabs = 0;         ///< how many these are
    std::uint64_t allocations = 0;   ///< so far
    std::uint64_t source_calls = 0;  ///< calls of `get` and `give` so far, also those in vain
  };
  struct holder_use {
    std::string holder;
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
  };
  struct slab_span {
    void* base = nullptr;
    std::size_t bytes = 0;
    explicit operator bool() const { return base != nullptr; }
  };

  /// The source outlives the pool. `alignment` is a power of two; `slab_bytes` is rounded up to it. Throws
  /// `usage_error` for other values.
  explicit slab_pool(memory_source& source, std::size_t slab_bytes = default_slab_bytes,
                     std::size_t alignment = default_alignment);
  /// Gives all slabs back, also those that are in use.
  ~slab_pool();
  slab_pool(const slab_pool&) = delete;
  slab_pool& operator=(const slab_pool&) = delete;

  /// Never null, and distinct for zero bytes too. `holder` says who asks; it is copied, and null is "unnamed". More
  /// than a slab gets a slab of its own, in units of 2 MiB. When the source has no slab, those wholly free are given
  /// back to it, then one just as large as the request will do. Throws `out_of_memory` naming the request, what is
  /// free, the largest holders and a remedy; the pool can be used as before.
  void* allocate(std::size_t bytes, const char* holder);
  /// Null does nothing. The program ends with a message when `memory` is not what `allocate` returned, or free already.
  void free(void* memory) noexcept;

  /// Gives the slabs that are wholly free back to the source; returns their bytes.
  std::uint64_t trim();
  /// Calls `watcher(base, bytes, true)` for every slab that is there and comes, `false` before one goes; until the pool
  /// ends, or null is given. It must not call the pool.
  using slab_watcher = std::function<void(void* base, std::size_t bytes, bool comes)>;
  void watch(slab_watcher watcher);
  /// The slab that an address lies in, for registration with others; no base when there is none. A slab stays where it
  /// is as long as a part of it is in use.
  slab_span slab_of(const void* memory) const;
  usage used() const;
  /// Who holds memory now, the largest first.
  std::vector<holder_use> holders() const;

 private:
  struct slab {
    std::size_t bytes;
  };
  struct holding {
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
  };
  using by_size = std::set<std::pair<std::size_t, std::uintptr_t>>;
  // A range in use keeps its node of the set of free ranges, so that freeing it needs no memory.
  struct range {
    std::size_t bytes;
    const slab* in;
    holding* holder;  // null: free
    by_size::node_type place;
  };
  using ranges = std::map<std::uintptr_t, range>;

  static range new_range(std::size_t bytes, const slab* in);
  std::size_t rounded(std::size_t bytes) const;
  holding& held_by(const char* holder);
  using own_lock = std::unique_lock<std::mutex>;
  void grow(std::size_t bytes, own_lock& lock);
  bool add_slab(std::size_t bytes);
  ranges::iterator best_fit(std::size_t bytes);
  void split(ranges::iterator at, std::size_t bytes);
  void make_free(ranges::iterator at) noexcept;
  void take_out(ranges::iterator at) noexcept;
  static bool joins(ranges::iterator neighbour, const slab* in);
  void absorb_next(ranges::iterator at) noexcept;
  std::uint64_t give_back_free_slabs(own_lock& lock);
  std::uint64_t give(const std::vector<slab_span>& slabs, own_lock& lock);
  std::vector<holder_use> sorted_holders() const;
  [[noreturn]] void fail(std::size_t bytes, const char* holder) const;

  mutable std::mutex mutex_;
  memory_source& source_;
  const std::size_t slab_bytes_;
  const std::size_t alignment_;
  std::map<std::uintptr_t, slab> slabs_;
  ranges ranges_;  // all, used and free
  by_size free_;
  std::map<std::string, holding, std::less<>> holders_;
  usage usage_;
  slab_watcher watcher_;
};

}  // namespace imbrex
