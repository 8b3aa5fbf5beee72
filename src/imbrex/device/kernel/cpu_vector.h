#pragma once

namespace imbrex::detail {

/// The small vectors of kernels on the CPU, where they are numbers side by side and nothing else.
template <class T>
struct cpu_vector_2 {
  T x, y;
};
template <class T>
struct cpu_vector_4 {
  T x, y, z, w;
};

template <class T>
inline cpu_vector_2<T> load_2(const T* p) {
  return {p[0], p[1]};
}
template <class T>
inline void store_2(T* p, cpu_vector_2<T> v) {
  p[0] = v.x;
  p[1] = v.y;
}
template <class T>
inline cpu_vector_4<T> load_4(const T* p) {
  return {p[0], p[1], p[2], p[3]};
}
template <class T>
inline void store_4(T* p, cpu_vector_4<T> v) {
  p[0] = v.x;
  p[1] = v.y;
  p[2] = v.z;
  p[3] = v.w;
}

}  // namespace imbrex::detail
