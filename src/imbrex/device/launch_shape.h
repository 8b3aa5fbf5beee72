#pragma once

#include <array>
#include <cstddef>

namespace imbrex {

/// How a kernel is spread: so many work-groups of so many work-items each, in x, y, z. Items of a group share memory
/// and wait for each other; groups run in any order. Includes nothing of coroutines: nvcc reads it.
struct launch_shape {
  std::array<unsigned, 3> groups{1, 1, 1};
  std::array<unsigned, 3> group{1, 1, 1};
  std::size_t shared_bytes = 0;  ///< of dynamic shared memory, for each group

  /// The most items that a group may have, on every device.
  static constexpr unsigned max_items = 1024;

  constexpr std::size_t num_groups() const { return std::size_t{groups[0]} * groups[1] * groups[2]; }
  constexpr std::size_t items_of_group() const { return std::size_t{group[0]} * group[1] * group[2]; }

  /// Groups enough for `n` items in x; the last one may reach beyond `n`.
  static constexpr launch_shape over(std::size_t n, unsigned items = 256) {
    return {.groups = {static_cast<unsigned>((n + items - 1) / items), 1, 1}, .group = {items, 1, 1}};
  }
};

}  // namespace imbrex
