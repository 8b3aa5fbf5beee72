#include "field/serial_reference.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "field/field_hash.h"
#include "field/initial_state.h"
#include "stopping_rule.h"
#include "support/exact_sum.h"

namespace jacobi {

serial_reference::serial_reference(const options& o)
    : options_(o), grid_(o.grid), field_(bytes_needed(o.grid) / 2 / sizeof(double), o.boundary.value), next_(field_) {
  std::vector<double> plane(static_cast<std::size_t>(grid_.nx * grid_.ny));
  for (std::int64_t z = 0; z < grid_.nz; ++z) {
    write_initial_state(plane.data(), grid_.nx, grid_, {0, 0, z, {grid_.nx, grid_.ny, 1}}, o.initial, o.boundary);
    for (std::int64_t y = 0; y < grid_.ny; ++y)
      std::copy_n(plane.data() + y * grid_.nx, grid_.nx, field_.data() + index(0, y, z));
  }
}

std::uint64_t serial_reference::bytes_needed(extents grid) {
  return 2 * sizeof(double) * static_cast<std::uint64_t>((grid.nx + 2) * (grid.ny + 2) * (grid.nz + 2));
}

void serial_reference::set_ghosts() {
  if (!options_.boundary.periodic) return;  // both fields were made with the value, and nothing overwrites it
  for (std::int64_t z = 0; z < grid_.nz; ++z) {
    for (std::int64_t y = 0; y < grid_.ny; ++y) {
      field_[index(-1, y, z)] = field_[index(grid_.nx - 1, y, z)];
      field_[index(grid_.nx, y, z)] = field_[index(0, y, z)];
    }
    for (std::int64_t x = 0; x < grid_.nx; ++x) {
      field_[index(x, -1, z)] = field_[index(x, grid_.ny - 1, z)];
      field_[index(x, grid_.ny, z)] = field_[index(x, 0, z)];
    }
  }
  for (std::int64_t y = 0; y < grid_.ny; ++y) {
    for (std::int64_t x = 0; x < grid_.nx; ++x) {
      field_[index(x, y, -1)] = field_[index(x, y, grid_.nz - 1)];
      field_[index(x, y, grid_.nz)] = field_[index(x, y, 0)];
    }
  }
}

void serial_reference::step() {
  set_ghosts();
  const std::int64_t row = grid_.nx + 2, plane = row * (grid_.ny + 2);
  const double alpha = options_.formula.alpha, beta = options_.formula.beta;
  for (std::int64_t z = 0; z < grid_.nz; ++z) {
    for (std::int64_t y = 0; y < grid_.ny; ++y) {
      const double* c = field_.data() + index(0, y, z);
      double* out = next_.data() + index(0, y, z);
      if (options_.formula.weighted) {
        for (std::int64_t x = 0; x < grid_.nx; ++x)
          out[x] = alpha * c[x] + beta * (c[x - 1] + c[x + 1] + c[x - row] + c[x + row] + c[x - plane] + c[x + plane]);
      } else {
        for (std::int64_t x = 0; x < grid_.nx; ++x)
          out[x] = (c[x] + c[x - 1] + c[x + 1] + c[x - row] + c[x + row] + c[x - plane] + c[x + plane]) * (1.0 / 7.0);
      }
    }
  }
  field_.swap(next_);
}

double serial_reference::norm_of_last_change() const {
  apps::exact_sum sum;
  for (std::int64_t z = 0; z < grid_.nz; ++z)
    for (std::int64_t y = 0; y < grid_.ny; ++y)
      for (std::int64_t x = 0; x < grid_.nx; ++x) {
        const double change = field_[index(x, y, z)] - next_[index(x, y, z)];
        sum.add(change * change);
      }
  return std::sqrt(sum.to_double());
}

std::int64_t serial_reference::run() {
  const stopping_rule rule(options_.tolerance, options_.check_every, options_.iterations);
  for (std::int64_t i = 0; i < options_.warm_up; ++i) step();
  double norm = 0;
  std::int64_t k = 0;
  for (bool last = false; k < rule.limit() && !last;) {
    ++k;
    if (rule.consumed_before(k)) {
      change_norm_ = norm;
      last = rule.met(norm);
    }
    step();
    if (rule.is_check(k) && !last) norm = norm_of_last_change();
  }
  return k;
}

std::uint64_t serial_reference::field_hash() const {
  std::uint64_t sum = 0;
  for (std::int64_t z = 0; z < grid_.nz; ++z)
    for (std::int64_t y = 0; y < grid_.ny; ++y)
      sum += hash_share(grid_, {0, y, z, {grid_.nx, 1, 1}}, field_.data() + index(0, y, z), grid_.nx);
  return sum;
}

std::vector<double> serial_reference::copy_box(const box& cells) const {
  std::vector<double> copy;
  copy.reserve(static_cast<std::size_t>(cells.size.cells()));
  for (std::int64_t z = 0; z < cells.size.nz; ++z)
    for (std::int64_t y = 0; y < cells.size.ny; ++y) {
      const double* row = field_.data() + index(cells.x0, cells.y0 + y, cells.z0 + z);
      copy.insert(copy.end(), row, row + cells.size.nx);
    }
  return copy;
}

verification compare_block(extents size, const double* rows, std::int64_t pitch, const double* expected) {
  verification v{true, 0.0};
  for (std::int64_t row = 0; row < size.ny * size.nz; ++row) {
    for (std::int64_t x = 0; x < size.nx; ++x) {
      const double got = rows[row * pitch + x], want = expected[row * size.nx + x];
      if (std::bit_cast<std::uint64_t>(got) == std::bit_cast<std::uint64_t>(want)) continue;
      v.same_bits = false;
      const double error = std::abs(got - want);
      if (std::isnan(got) && std::isnan(want)) continue;
      v.max_abs_error = std::max(v.max_abs_error, std::isnan(error) ? std::numeric_limits<double>::infinity() : error);
    }
  }
  return v;
}

verification combine(const verification& a, const verification& b) {
  return {a.same_bits && b.same_bits, std::max(a.max_abs_error, b.max_abs_error)};
}

}  // namespace jacobi
