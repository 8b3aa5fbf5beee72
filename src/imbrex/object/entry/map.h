#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "imbrex/base/ids.h"
#include "imbrex/object/entry/index.h"

/// Maps: which PE is the home of an element, where it is created unless told otherwise. A map is any copyable,
/// serialisable function object `int operator()(const Index& i, const Index& extent, int num_pes) const` (or without
/// the extent) whose answer depends on nothing but its arguments and members; it runs on every PE. One that says
/// `static constexpr bool needs_extent = true` is refused for arrays without an extent.
namespace imbrex::map {

/// Consecutive elements (x fastest) together, equal numbers on every PE. The default.
struct block {
  static constexpr bool needs_extent = true;
  template <class Index>
  int operator()(const Index& i, const Index& extent, int num_pes) const {
    return static_cast<int>(linear(i, extent) * static_cast<std::uint64_t>(num_pes) / volume(extent));
  }
};

/// Neighbouring elements on different PEs.
struct round_robin {
  static constexpr bool needs_extent = true;
  template <class Index>
  int operator()(const Index& i, const Index& extent, int num_pes) const {
    return static_cast<int>(linear(i, extent) % static_cast<std::uint64_t>(num_pes));
  }
};

/// As a chess board of `nx` by `ny` by `nz` PEs (of ranks, for objects of a `task_graph`), again and again: neighbours
/// in each dimension on different ones, and rows and columns of a matrix on few.
struct block_cyclic {
  int nx = 1, ny = 1, nz = 1;

  /// For a matrix: as square as that many can be laid out, and rather wide than high, which suits factorisations: a
  /// column of tiles waits for each other.
  static constexpr block_cyclic over(int n) {
    int a = 1;
    for (int b = 1; b * b <= n; ++b) {
      if (n % b == 0) a = b;
    }
    return {a, n / a, 1};
  }
  int operator()(const index1d& i, int num_pes) const { return place(i.x, 0, 0, num_pes); }
  int operator()(const index2d& i, int num_pes) const { return place(i.x, i.y, 0, num_pes); }
  int operator()(const index3d& i, int num_pes) const { return place(i.x, i.y, i.z, num_pes); }

 private:
  int place(int x, int y, int z, int num_pes) const { return ((z % nz * ny + y % ny) * nx + x % nx) % num_pes; }
};

/// By hash of the index: for indices without an extent.
struct hash {
  template <class Index>
  int operator()(const Index& i, int num_pes) const {
    return static_cast<int>(hash_index(i) % static_cast<std::uint64_t>(num_pes));
  }
};

/// Element i on the first PE of rank i.
struct rank {
  int pes_per_rank = 1;
  int operator()(const index1d& i, int) const { return i.x * pes_per_rank; }
};

/// All on one PE.
struct constant {
  pe_id pe = 0;
  template <class Index>
  int operator()(const Index&, int) const {
    return pe;
  }
};

}  // namespace imbrex::map

namespace imbrex {

/// Calls a map of either form.
template <class Map, class Index>
int map_to_pe(const Map& m, const Index& i, const Index& extent, int num_pes) {
  if constexpr (std::is_invocable_v<const Map&, const Index&, const Index&, int>) {
    return m(i, extent, num_pes);
  } else {
    static_assert(std::is_invocable_v<const Map&, const Index&, int>,
                  "imbrex: a map is called as `int map(const Index&, const Index& extent, int num_pes) const` or "
                  "`int map(const Index&, int num_pes) const`");
    return m(i, num_pes);
  }
}

/// What `create_array` makes: the extent, and where the elements go.
template <class Index, class Map = map::block>
struct array_shape {
  Index extent{};
  Map map{};
  bool filled = true;  ///< false: starts empty, elements are inserted
  std::string name{};  ///< what reports call its chares; empty: by their class
  bool stays = false;  ///< its elements are not moved: a group

  template <class Archive>
  void serialize(Archive& ar) {
    ar & extent & map & filled & name & stays;
  }
};

/// An array of the given extent, placed by `m`.
template <class Index, class Map>
array_shape<Index, Map> placed(const Index& extent, Map m) {
  return {extent, std::move(m), true};
}

/// An array that starts empty and whose elements are inserted; homes by hash unless a map is given. It has no extent,
/// so the map must not need one (`map::block` and `map::round_robin` do).
template <class Index, class Map = map::hash>
array_shape<Index, Map> empty_array(Map m = {}) {
  return {Index{}, std::move(m), false};
}

/// An array that starts empty, of elements within `extent`, each inserted where `m` places it among all that there may
/// be.
template <class Index, class Map>
array_shape<Index, Map> empty_array(const Index& extent, Map m) {
  return {extent, std::move(m), false};
}

namespace detail {
template <class Map>
constexpr bool map_needs_extent() {
  if constexpr (requires { Map::needs_extent; }) {
    return Map::needs_extent;
  } else {
    return false;
  }
}
}  // namespace detail

}  // namespace imbrex
