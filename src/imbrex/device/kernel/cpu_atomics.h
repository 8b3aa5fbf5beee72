#pragma once

#include <atomic>
#include <concepts>
#include <cstddef>
#include <type_traits>

/// What kernels of the dialect do to memory that several items change, on the CPU, where PEs may share the groups of a
/// launch. Unordered with everything else, as on GPUs; they return what was there before.
namespace imbrex::detail {

template <class T, class Change>
inline T atomic_change(T* p, Change changed) {
  const std::atomic_ref<T> place(*p);
  T old = place.load(std::memory_order_relaxed);
  while (!place.compare_exchange_weak(old, changed(old), std::memory_order_relaxed)) {
  }
  return old;
}

template <class T>
inline T atomic_add(T* p, std::type_identity_t<T> v) {
  if constexpr (std::integral<T>) return std::atomic_ref<T>(*p).fetch_add(v, std::memory_order_relaxed);
  return atomic_change(p, [v](T old) { return old + v; });
}
template <class T>
inline T atomic_min(T* p, std::type_identity_t<T> v) {
  return atomic_change(p, [v](T old) { return v < old ? v : old; });
}
template <class T>
inline T atomic_max(T* p, std::type_identity_t<T> v) {
  return atomic_change(p, [v](T old) { return old < v ? v : old; });
}
template <class T>
inline T atomic_swap(T* p, std::type_identity_t<T> v) {
  return std::atomic_ref<T>(*p).exchange(v, std::memory_order_relaxed);
}
template <std::integral T>
inline T atomic_cas(T* p, std::type_identity_t<T> expected, std::type_identity_t<T> v) {
  std::atomic_ref<T>(*p).compare_exchange_strong(expected, v, std::memory_order_relaxed);
  return expected;
}

}  // namespace imbrex::detail
