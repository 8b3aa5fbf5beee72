#pragma once

#include <type_traits>

#include "imbrex/device/kernel/launch_shape.h"

namespace imbrex {

/// One work-group as a kernel of the dialect sees it on the CPU. Passed by value, so that no store of the kernel can
/// change a loop's bounds.
struct cpu_group {
  int ids[3];
  int num[3];
  int items[3];
  void* shared;  ///< dynamic shared memory, aligned to 64 bytes

  static constexpr int max_items = launch_shape::max_items;
  constexpr int id(int d) const { return ids[d]; }
  constexpr int num_groups(int d) const { return num[d]; }
  constexpr int size(int d) const { return items[d]; }
};

/// The same for a kernel that is made for one size of group: the loops over its items have constant bounds.
template <int X, int Y, int Z>
struct fixed_cpu_group : cpu_group {
  static_assert(X > 0 && Y > 0 && Z > 0 && X * Y * Z <= cpu_group::max_items, "a group has 1 to 1024 items");
  static constexpr int max_items = X * Y * Z;
  static constexpr int size(int d) { return d == 0 ? X : d == 1 ? Y : Z; }
};

namespace detail {
template <int...>
struct select_group {
  using type = cpu_group;
  static constexpr extent3 size{0, 0, 0};
};
template <int X, int Y, int Z>
struct select_group<X, Y, Z> {
  using type = fixed_cpu_group<X, Y, Z>;
  static constexpr extent3 size{X, Y, Z};
};
template <int... N>
inline constexpr extent3 fixed = select_group<N...>::size;

/// How many items of the group in dimension `d` have a global id below `n`.
template <class Group, class N>
constexpr int items_below(const Group& g, int d, N n) {
  const auto first = static_cast<long long>(g.id(d)) * g.size(d);
  auto below = static_cast<long long>(n);
  if constexpr (std::is_floating_point_v<N>) below += static_cast<N>(below) < n ? 1 : 0;  // of 2.5, items 0, 1 and 2
  const long long left = below - first;
  return left < 0 ? 0 : left < g.size(d) ? static_cast<int>(left) : g.size(d);
}
}  // namespace detail

/// Of three numbers the group of that size, of none the group of any size.
template <int... N>
using cpu_group_of = typename detail::select_group<N...>::type;

}  // namespace imbrex
