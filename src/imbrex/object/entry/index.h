#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include <fmt/core.h>

#include "imbrex/base/hash.h"
#include "imbrex/base/ids.h"
#include "imbrex/base/serialize.h"

/// How the elements of a chare array are named. Besides these any type can be an index that is equality-comparable,
/// default-constructible, serialisable and has `std::hash`.
namespace imbrex {

namespace detail {
[[noreturn, gnu::cold]] void refuse_index(const std::string& index);
}

/// The index type of singleton chares, which have no index that a program could choose: names one of a class.
struct no_index {
  pe_id home = no_pe;       ///< where it was made
  pe_id maker = no_pe;      ///< who had it made,
  std::uint64_t count = 0;  ///< as its how-manieth there
  friend constexpr bool operator==(const no_index&, const no_index&) = default;
};

/// Also the extent of an array of one dimension.
struct index1d {
  std::int32_t x = 0;
  constexpr index1d() = default;
  constexpr index1d(int x_) : x(x_) {}  // NOLINT(google-explicit-constructor): array[5]
  /// Throws `usage_error` where it is none of 32 bits, which came out as another element's.
  template <std::integral I>
    requires(!std::same_as<I, int>)
  constexpr index1d(I i) : x(static_cast<std::int32_t>(i)) {  // NOLINT(google-explicit-constructor)
    if (static_cast<I>(x) != i || (x < 0) != (i < I{})) detail::refuse_index(std::to_string(i));
  }
  constexpr operator int() const { return x; }  // comparisons too: with numbers and with each other
};

/// An index of two dimensions, or the extent of an array; x varies fastest.
struct index2d {
  std::int32_t x = 0, y = 0;
  friend constexpr bool operator==(const index2d&, const index2d&) = default;
};

/// The same of three.
struct index3d {
  std::int32_t x = 0, y = 0, z = 0;
  friend constexpr bool operator==(const index3d&, const index3d&) = default;
};

template <class Index>
inline constexpr bool is_grid_index =
    std::is_same_v<Index, index1d> || std::is_same_v<Index, index2d> || std::is_same_v<Index, index3d>;

/// The number of elements of the box of the given extent; x varies fastest in `linear`.
constexpr std::uint64_t volume(index1d e) { return static_cast<std::uint64_t>(e.x < 0 ? 0 : e.x); }
constexpr std::uint64_t volume(index2d e) { return volume(index1d(e.x)) * volume(index1d(e.y)); }
constexpr std::uint64_t volume(index3d e) { return volume(index2d{e.x, e.y}) * volume(index1d(e.z)); }

/// The middle of cell `i` of the box, each coordinate between 0 and 1; gives how many there are.
inline int relative_place(index1d i, index1d e, std::array<double, 3>& place) {
  place[0] = (i.x + 0.5) / e.x;
  return 1;
}
inline int relative_place(index2d i, index2d e, std::array<double, 3>& place) {
  place[1] = (i.y + 0.5) / e.y;
  return 1 + relative_place(index1d(i.x), index1d(e.x), place);
}
inline int relative_place(index3d i, index3d e, std::array<double, 3>& place) {
  place[2] = (i.z + 0.5) / e.z;
  return 1 + relative_place(index2d{i.x, i.y}, index2d{e.x, e.y}, place);
}

/// Whether `i` lies in the box [0, extent).
constexpr bool inside(index1d i, index1d e) {
  return static_cast<std::uint32_t>(i.x) < static_cast<std::uint32_t>(e.x);
}
constexpr bool inside(index2d i, index2d e) {
  return inside(index1d(i.x), index1d(e.x)) && inside(index1d(i.y), index1d(e.y));
}
constexpr bool inside(index3d i, index3d e) {
  return inside(index2d{i.x, i.y}, index2d{e.x, e.y}) && inside(index1d(i.z), index1d(e.z));
}

/// The position of `i` in the box, x fastest.
constexpr std::uint64_t linear(index1d i, index1d) { return static_cast<std::uint64_t>(i.x); }
constexpr std::uint64_t linear(index2d i, index2d e) {
  return static_cast<std::uint64_t>(i.y) * static_cast<std::uint64_t>(e.x) + static_cast<std::uint64_t>(i.x);
}
constexpr std::uint64_t linear(index3d i, index3d e) {
  return (static_cast<std::uint64_t>(i.z) * static_cast<std::uint64_t>(e.y) + static_cast<std::uint64_t>(i.y)) *
             static_cast<std::uint64_t>(e.x) +
         static_cast<std::uint64_t>(i.x);
}

/// The inverse of `linear`.
constexpr index1d from_linear(std::uint64_t l, index1d) { return {static_cast<std::int32_t>(l)}; }
constexpr index2d from_linear(std::uint64_t l, index2d e) {
  const auto nx = static_cast<std::uint64_t>(e.x);
  return {static_cast<std::int32_t>(l % nx), static_cast<std::int32_t>(l / nx)};
}
constexpr index3d from_linear(std::uint64_t l, index3d e) {
  const auto nx = static_cast<std::uint64_t>(e.x);
  const auto ny = static_cast<std::uint64_t>(e.y);
  return {static_cast<std::int32_t>(l % nx), static_cast<std::int32_t>(l / nx % ny),
          static_cast<std::int32_t>(l / nx / ny)};
}

/// A hash that is the same on every rank.
template <class Index>
std::uint64_t hash_index(const Index& i) {
  if constexpr (std::is_same_v<Index, no_index>) {
    return mix(i.count ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(i.maker)) << 40 ^
               static_cast<std::uint64_t>(static_cast<std::uint32_t>(i.home)) << 20);
  } else if constexpr (std::is_same_v<Index, index1d>) {
    return mix(static_cast<std::uint32_t>(i.x));
  } else if constexpr (std::is_same_v<Index, index2d>) {
    return mix(static_cast<std::uint32_t>(i.x) | static_cast<std::uint64_t>(static_cast<std::uint32_t>(i.y)) << 32);
  } else if constexpr (std::is_same_v<Index, index3d>) {
    return mix(hash_index(index2d{i.x, i.y}) ^ static_cast<std::uint32_t>(i.z));
  } else {
    return mix(std::hash<Index>{}(i));
  }
}

/// `hash_index` for `std::unordered_map`.
template <class Index>
struct index_hash {
  std::size_t operator()(const Index& i) const { return hash_index(i); }
};

/// For messages to people: "(1, 2, 3)".
template <class Index>
std::string to_text(const Index& i) {
  if constexpr (std::is_same_v<Index, no_index>) {
    return "";
  } else if constexpr (std::is_same_v<Index, index1d>) {
    return fmt::format("({})", i.x);
  } else if constexpr (std::is_same_v<Index, index2d>) {
    return fmt::format("({}, {})", i.x, i.y);
  } else if constexpr (std::is_same_v<Index, index3d>) {
    return fmt::format("({}, {}, {})", i.x, i.y, i.z);
  } else if constexpr (fmt::is_formattable<Index>::value) {
    return fmt::format("({})", i);
  } else {
    return fmt::format("(hash {:016x})", hash_index(i));
  }
}

}  // namespace imbrex
