#pragma once

#include <cstddef>

#include "imbrex/base/memory/slab.h"

namespace imbrex {

/// An allocator for containers of the standard library whose nodes come and go: takes them from the thread's `slab`.
template <class T>
struct slab_allocator {
  using value_type = T;
  static_assert(alignof(T) <= slab::alignment);

  slab_allocator() = default;
  template <class U>
  slab_allocator(const slab_allocator<U>&) {}  // NOLINT(google-explicit-constructor): as the standard demands

  T* allocate(std::size_t n) { return static_cast<T*>(slab::allocate(n * sizeof(T))); }
  void deallocate(T* memory, std::size_t) { slab::free(memory); }
  friend bool operator==(slab_allocator, slab_allocator) { return true; }
};

}  // namespace imbrex
