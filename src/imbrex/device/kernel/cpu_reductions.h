#pragma once

#include <concepts>

/// What a group of the dialect makes of a value of each of its items, on the CPU. Neighbours are combined first, then
/// pairs of pairs: the order of GPUs, so that all have the same bits.
namespace imbrex::detail {

template <class T, class Combine>
inline T combined(T* scratch, const T* mine, int num_items, Combine both) {
  for (int i = 0; i < num_items; ++i) scratch[i] = mine[i];
  for (int left = num_items; left > 1; left = (left + 1) / 2) {
    for (int i = 0; i < left / 2; ++i) scratch[i] = both(scratch[2 * i], scratch[2 * i + 1]);
    if (left % 2 != 0) scratch[left / 2] = scratch[left - 1];
  }
  return scratch[0];
}

template <class T>
constexpr T smaller(T a, T b) {
  return b < a ? b : a;
}
template <class T>
constexpr T larger(T a, T b) {
  return a < b ? b : a;
}
template <class T>
inline T group_sum(T* scratch, const T* mine, int num_items) {
  return combined(scratch, mine, num_items, [](T a, T b) { return static_cast<T>(a + b); });
}
template <class T>
inline T group_min(T* scratch, const T* mine, int num_items) {
  return combined(scratch, mine, num_items, [](T a, T b) { return smaller(a, b); });
}
template <class T>
inline T group_max(T* scratch, const T* mine, int num_items) {
  return combined(scratch, mine, num_items, [](T a, T b) { return larger(a, b); });
}
/// Each item's value becomes the sum of those before it; the sum of all.
template <std::integral T>
inline T group_scan(T* mine, int num_items) {
  T sum{};
  for (int i = 0; i < num_items; ++i) {
    const T before = sum;
    sum = static_cast<T>(sum + mine[i]);
    mine[i] = before;
  }
  return sum;
}

}  // namespace imbrex::detail
