#pragma once

#include <cstddef>
#include <type_traits>
#include <vector>

namespace imbrex::detail {

#if defined(__GLIBCXX__) && !defined(_GLIBCXX_DEBUG) && !defined(_GLIBCXX_SANITIZE_VECTOR)
/// Reaches the end of libstdc++'s vector, as a class derived from it may.
template <class T>
struct vector_end : std::vector<T> {
  static void set(std::vector<T>& v, std::size_t size) {
    constexpr auto parts = &vector_end::_M_impl;
    (v.*parts)._M_finish = (v.*parts)._M_start + size;
  }
};
#endif

/// `c.resize(n)` for a container that is about to be overwritten whole: its elements have any value. For vectors of
/// trivially copyable elements that spares the pass over the memory which sets them to zero, as long as the standard
/// library is one that is known here.
template <class Container>
void resize_unfilled(Container& c, std::size_t n) {
  c.resize(n);
}

template <class T>
  requires(std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool>)
void resize_unfilled(std::vector<T>& v, std::size_t n) {
#if defined(__GLIBCXX__) && !defined(_GLIBCXX_DEBUG) && !defined(_GLIBCXX_SANITIZE_VECTOR)
  v.clear();
  v.reserve(n);
  vector_end<T>::set(v, n);
#else
  v.resize(n);
#endif
}

}  // namespace imbrex::detail
