#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>

/// Fields on regular grids, as files know them.
namespace imbrex {

/// Numbers of cells along x, y, z. x is the fastest in memory; a plane has one cell in z, a line one in y, too.
struct field_extent {
  std::uint64_t nx = 1, ny = 1, nz = 1;

  std::uint64_t volume() const { return nx * ny * nz; }
  bool operator==(const field_extent&) const = default;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & nx & ny & nz;
  }
};

/// A block of a field: its first cell, and how many cells it has. What lies around them in its memory, such as halos,
/// is left out: `ghosts` cells on both sides along x, y and z.
struct field_block {
  std::uint64_t x = 0, y = 0, z = 0;
  field_extent cells;
  std::array<std::uint64_t, 3> ghosts{};

  /// What lies in memory.
  field_extent padded() const { return {cells.nx + 2 * ghosts[0], cells.ny + 2 * ghosts[1], cells.nz + 2 * ghosts[2]}; }
  /// Has none, as where there are fewer cells than chares.
  bool is_empty() const { return cells.nx == 0 || cells.ny == 0 || cells.nz == 0; }
  bool fits(const field_extent& whole) const {
    const auto inside = [](std::uint64_t from, std::uint64_t n, std::uint64_t all) {
      return from <= all && n <= all - from;  // a first cell of -1 is a large number
    };
    return inside(x, cells.nx, whole.nx) && inside(y, cells.ny, whole.ny) && inside(z, cells.nz, whole.nz);
  }
  /// "cells 4 to 7, 0 to 3, 0 to 0", or "no cells".
  std::string text() const;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & x & y & z & cells& ghosts[0] & ghosts[1] & ghosts[2];
  }
};

/// Which field of which file.
struct field_name {
  std::string file;  ///< "out/heat_000100.h5", "out/heat.xdmf", "out/heat.bp"; its folder is made where there is none
  std::string dataset;              ///< "temperature", or with groups "fluid/temperature"
  std::optional<double> time = {};  ///< of files that have series: when; read: the last one where nothing is said

  std::string text() const;
};

/// What a file is, by its ending.
enum class field_format {
  hdf5,  ///< every other ending
  xdmf,  ///< ".xdmf": an index for ParaView and others, with HDF5 files beside it; may have times
  bp,    ///< ".bp": of ADIOS2; may have times
};
/// See `field_format`.
field_format format_of(const std::string& file);

/// The numbers of a field.
enum class field_type { float32, float64, int32, int64, uint8, uint32, uint64 };

namespace detail {
template <class T>
constexpr field_type field_type_of() {
  constexpr bool is_character = std::is_same_v<T, wchar_t> || std::is_same_v<T, char32_t>;
  constexpr std::size_t integer = std::is_integral_v<T> && !is_character ? sizeof(T) : 0;  // of whatever name
  if constexpr (std::is_same_v<T, float>) return field_type::float32;
  if constexpr (std::is_same_v<T, double>) return field_type::float64;
  if constexpr (integer == 4) return std::is_signed_v<T> ? field_type::int32 : field_type::uint32;
  if constexpr (integer == 8) return std::is_signed_v<T> ? field_type::int64 : field_type::uint64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return field_type::uint8;
  static_assert(
      std::is_same_v<T, float> || std::is_same_v<T, double> || integer == 4 || integer == 8 ||
          std::is_same_v<T, std::uint8_t>,
      "imbrex: a field has numbers of type float, double, std::int32_t, int64_t, uint8_t, uint32_t or uint64_t");
}
}  // namespace detail

}  // namespace imbrex
