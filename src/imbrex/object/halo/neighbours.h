#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "imbrex/object/entry/index.h"

namespace imbrex {

/// Which elements of a grid are an element's neighbours.
struct neighbourhood {
  bool diagonal = false;           ///< across edges and corners, too
  std::array<bool, 3> periodic{};  ///< along x, y, z: the last one and the first one are neighbours
  int first_port = 0;              ///< of 27 that are theirs: each halo of a chare has its own
};

/// One neighbour of an element of a grid, and by which ports of channels the two know each other: for a channel each.
template <class Index>
struct neighbour {
  Index index;
  std::array<int, 3> offset{};  ///< where it is: -1, 0 or 1 along x, y, z (before periodic ends are joined)
  int port = 0;                 ///< one for each offset, from `first_port` on; the 13th would be the element itself
  int peer_port = 0;            ///< the neighbour's for the same pair

  /// How many of the `sizes` cells of the element (x, y, z; 1 for dimensions that are not there) lie within `depth` of
  /// this neighbour: as many as a halo `depth` deep sends there, where all elements are of this size.
  std::size_t cells(const std::array<std::size_t, 3>& sizes, std::size_t depth = 1) const {
    std::size_t number = 1;
    for (std::size_t axis = 0; axis < 3; ++axis) number *= offset[axis] == 0 ? sizes[axis] : depth;
    return number;
  }
};

namespace detail {

constexpr std::array<int, 3> coordinates(index1d i) { return {i.x, 0, 0}; }
constexpr std::array<int, 3> coordinates(index2d i) { return {i.x, i.y, 0}; }
constexpr std::array<int, 3> coordinates(index3d i) { return {i.x, i.y, i.z}; }
inline void set_coordinates(index1d& i, const std::array<int, 3>& c) { i.x = c[0]; }
inline void set_coordinates(index2d& i, const std::array<int, 3>& c) { i = {c[0], c[1]}; }
inline void set_coordinates(index3d& i, const std::array<int, 3>& c) { i = {c[0], c[1], c[2]}; }
template <class Index>
inline constexpr int num_dimensions = 1;
template <>
inline constexpr int num_dimensions<index2d> = 2;
template <>
inline constexpr int num_dimensions<index3d> = 3;

}  // namespace detail

/// The neighbours of element `at` of the grid [0, extent), in the order of their ports: x fastest. Where an axis is
/// periodic and has one or two elements, an element is its own neighbour, or the same one on both sides: each has its
/// own ports.
template <class Index>
  requires is_grid_index<Index>
std::vector<neighbour<Index>> neighbours(Index at, Index extent, const neighbourhood& n = {}) {
  constexpr int most = detail::num_dimensions<Index>;
  const std::array<int, 3> own = detail::coordinates(at), num = detail::coordinates(extent);
  std::vector<neighbour<Index>> all;
  for (int port = 0; port < 27; ++port) {
    neighbour<Index> one;
    one.port = n.first_port + port;
    one.peer_port = n.first_port + 26 - port;
    one.offset = {port % 3 - 1, port / 3 % 3 - 1, port / 9 - 1};
    std::array<int, 3> there = own;
    int num_steps = 0;
    bool is_inside = true;
    for (int axis = 0; axis < 3; ++axis) {
      const auto a = static_cast<std::size_t>(axis);
      if (one.offset[a] == 0) continue;
      ++num_steps;
      there[a] += one.offset[a];
      if (axis >= most) {
        is_inside = false;
      } else if (there[a] < 0 || there[a] >= num[a]) {
        is_inside = is_inside && n.periodic[a];
        there[a] = (there[a] + num[a]) % num[a];
      }
    }
    if (!is_inside || num_steps == 0 || (num_steps > 1 && !n.diagonal)) continue;
    detail::set_coordinates(one.index, there);
    all.push_back(one);
  }
  return all;
}

}  // namespace imbrex
