#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace imbrex {

/// Allocates at multiples of a cache line, as devices' pools do: what is computed with buffers can be computed with
/// this.
template <class T>
struct line_allocator {
  using value_type = T;
  static constexpr std::align_val_t alignment{64};

  line_allocator() = default;
  template <class U>
  line_allocator(const line_allocator<U>&) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), alignment)); }
  /// Without setting it to anything: whoever resizes writes all of it.
  template <class U>
  void construct(U* p) noexcept {
    ::new (static_cast<void*>(p)) U;
  }
  template <class U, class... A>
  void construct(U* p, A&&... a) {
    ::new (static_cast<void*>(p)) U(std::forward<A>(a)...);
  }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, alignment); }
  bool operator==(const line_allocator&) const = default;
};

using aligned_bytes = std::vector<std::byte, line_allocator<std::byte>>;

}  // namespace imbrex
