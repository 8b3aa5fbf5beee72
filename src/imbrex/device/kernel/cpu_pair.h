#pragma once

namespace imbrex::detail {

/// The pairs of kernels on the CPU, where they are two numbers and nothing else.
template <class T>
struct cpu_pair {
  T x, y;
};

template <class T>
inline cpu_pair<T> load_pair(const T* p) {
  return {p[0], p[1]};
}
template <class T>
inline void store_pair(T* p, cpu_pair<T> pair) {
  p[0] = pair.x;
  p[1] = pair.y;
}

}  // namespace imbrex::detail
