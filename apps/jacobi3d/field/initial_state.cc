#include "field/initial_state.h"

#include <cmath>
#include <numbers>
#include <vector>

#include "field/npy.h"
#include "imbrex/base/hash.h"

namespace jacobi {
namespace {

/// Calls `value(x, y, z)` with global coordinates for every cell.
template <class Value>
void fill(double* rows, std::int64_t pitch, const box& cells, Value&& value) {
  for (std::int64_t z = 0; z < cells.size.nz; ++z)
    for (std::int64_t y = 0; y < cells.size.ny; ++y)
      for (std::int64_t x = 0; x < cells.size.nx; ++x)
        rows[(z * cells.size.ny + y) * pitch + x] = value(cells.x0 + x, cells.y0 + y, cells.z0 + z);
}

double random_value(std::uint64_t seed, std::uint64_t cell) {
  return static_cast<double>(imbrex::mix(seed ^ imbrex::mix(cell)) >> 11) * 0x1p-53;
}

void fill_sine(double* rows, std::int64_t pitch, extents grid, const box& cells, bool periodic) {
  const std::vector<double> sx = sine_table(grid.nx, periodic);
  const std::vector<double> sy = sine_table(grid.ny, periodic);
  const std::vector<double> sz = sine_table(grid.nz, periodic);
  auto at = [](const std::vector<double>& table, std::int64_t i) { return table[static_cast<std::size_t>(i)]; };
  fill(rows, pitch, cells,
       [&](std::int64_t x, std::int64_t y, std::int64_t z) { return at(sx, x) * at(sy, y) * at(sz, z); });
}

}  // namespace

std::vector<double> sine_table(std::int64_t n, bool periodic) {
  std::vector<double> table(static_cast<std::size_t>(n));
  const double step =
      periodic ? 2 * std::numbers::pi / static_cast<double>(n) : std::numbers::pi / static_cast<double>(n + 1);
  for (std::int64_t i = 0; i < n; ++i)
    table[static_cast<std::size_t>(i)] = std::sin(step * static_cast<double>(periodic ? i : i + 1));
  return table;
}

void write_initial_state(double* rows, std::int64_t pitch, extents grid, const box& cells,
                         const initial_condition& initial, const boundary_condition& boundary) {
  switch (initial.kind) {
    case initial_kind::hot_face:
      fill(rows, pitch, cells, [](std::int64_t, std::int64_t, std::int64_t z) { return z == 0 ? 1.0 : 0.0; });
      break;
    case initial_kind::random:
      fill(rows, pitch, cells, [&](std::int64_t x, std::int64_t y, std::int64_t z) {
        return random_value(initial.seed, static_cast<std::uint64_t>((z * grid.ny + y) * grid.nx + x));
      });
      break;
    case initial_kind::sine: fill_sine(rows, pitch, grid, cells, boundary.periodic); break;
    case initial_kind::file: npy_reader(initial.input).read_box(cells, rows, pitch); break;
  }
}

void set_initial_state(block_field& field, extents grid, const box& cells, const initial_condition& initial,
                       const boundary_condition& boundary) {
  write_initial_state(field.current(), field.pitch(), grid, cells, initial, boundary);
  field.pack_faces();
}

}  // namespace jacobi
