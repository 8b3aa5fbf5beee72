#pragma once

#include <array>
#include <cstddef>

namespace imbrex {

/// A number for each of x, y and z; what is left out is 1: `{16, 16}`.
struct extent3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr unsigned operator[](std::size_t d) const { return d == 0 ? x : d == 1 ? y : z; }
  constexpr operator std::array<unsigned, 3>() const { return {x, y, z}; }
  friend constexpr bool operator==(const extent3&, const extent3&) = default;
};

/// How a kernel is spread: so many work-groups of so many work-items each, in x, y, z. Items of a group share memory
/// and wait for each other; groups run in any order. Includes nothing of coroutines: nvcc reads it.
struct launch_shape {
  extent3 groups{};
  extent3 group{};
  std::size_t shared_bytes = 0;  ///< of dynamic shared memory, for each group

  /// The most items that a group may have, on every device.
  static constexpr unsigned max_items = 1024;

  constexpr std::size_t num_groups() const { return std::size_t{groups[0]} * groups[1] * groups[2]; }
  constexpr std::size_t items_of_group() const { return std::size_t{group[0]} * group[1] * group[2]; }

  /// Groups enough for `n` items in x; the last one may reach beyond `n`.
  static constexpr launch_shape over(std::size_t n, unsigned items = 256) {
    return {.groups = {static_cast<unsigned>((n + items - 1) / items)}, .group = {items}};
  }
  /// The same for `nx` by `ny` by `nz` items, for kernels that leave those beyond out (`IX_ITEMS_BELOW_2`).
  static constexpr launch_shape over_grid(std::size_t nx, std::size_t ny, std::size_t nz = 1, extent3 items = {32, 8}) {
    const auto enough = [](std::size_t n, unsigned of) { return static_cast<unsigned>((n + of - 1) / of); };
    return {.groups = {enough(nx, items.x), enough(ny, items.y), enough(nz, items.z)}, .group = items};
  }
};

}  // namespace imbrex
