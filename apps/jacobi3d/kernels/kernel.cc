#include "kernels/kernel.h"

#include <unistd.h>

#include <algorithm>

#include "imbrex/base/error.h"
#include "kernels/kernel_variants.h"

namespace jacobi {
namespace {

detail::range_function variant(instruction_set isa, const stencil& formula, store_policy policy) {
  static const detail::variant_table tables[] = {detail::baseline_variants(), detail::avx2_variants(),
                                                 detail::avx512_variants()};
  const bool streaming = policy == store_policy::streaming;
  return tables[static_cast<int>(isa)].update[formula.weighted ? 1 : 0][streaming ? 1 : 0];
}

/// The rows that need no ghost of a pending y or z face; may be empty, with z0 == z1 or y0 == y1.
row_range interior_rows(extents size, face_set pending) {
  row_range r = row_range::all(size);
  if (pending.has(face::zlo)) r.z0 = 1;
  if (pending.has(face::zhi)) r.z1 = std::max(r.z0, r.z1 - 1);
  if (pending.has(face::ylo)) r.y0 = 1;
  if (pending.has(face::yhi)) r.y1 = std::max(r.y0, r.y1 - 1);
  return r;
}

double update_cell(const stencil& f, double c, double xm, double xp, double ym, double yp, double zm, double zp) {
  if (f.weighted) return f.alpha * c + f.beta * (xm + xp + ym + yp + zm + zp);
  return (c + xm + xp + ym + yp + zm + zp) * (1.0 / 7.0);
}

/// Updates the cell at x = 0 or x = nx - 1 of one row alone.
void update_x_end(const block_view& v, const stencil& f, std::int64_t y, std::int64_t z, int hi) {
  const std::int64_t ny = v.size.ny, nz = v.size.nz, plane = ny * v.pitch;
  const std::int64_t x = hi != 0 ? v.size.nx - 1 : 0, row = z * ny + y;
  const double* c = v.in + row * v.pitch + x;
  const double xm = x > 0 ? c[-1] : v.ghost_x[0][row];
  const double xp = x + 1 < v.size.nx ? c[1] : v.ghost_x[1][row];
  const double ym = y > 0 ? c[-v.pitch] : v.ghost_y[0][z * v.ghost_y_stride[0] + x];
  const double yp = y + 1 < ny ? c[v.pitch] : v.ghost_y[1][z * v.ghost_y_stride[1] + x];
  const double zm = z > 0 ? c[-plane] : v.ghost_z[0][y * v.pitch + x];
  const double zp = z + 1 < nz ? c[plane] : v.ghost_z[1][y * v.pitch + x];
  const double value = update_cell(f, *c, xm, xp, ym, yp, zm, zp);
  v.out[row * v.pitch + x] = value;
  if (x == 0 && v.pack_x[0] != nullptr) v.pack_x[0][row] = value;
  if (x == v.size.nx - 1 && v.pack_x[1] != nullptr) v.pack_x[1][row] = value;
  if (y == 0 && v.pack_y[0] != nullptr) v.pack_y[0][z * v.pitch + x] = value;
  if (y == ny - 1 && v.pack_y[1] != nullptr) v.pack_y[1][z * v.pitch + x] = value;
}

}  // namespace

std::uint64_t last_level_cache_bytes() {
  const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  if (l3 > 0) return static_cast<std::uint64_t>(l3);
  if (l2 > 0) return static_cast<std::uint64_t>(l2);
  return std::uint64_t{32} << 20;
}

store_policy choose_store_policy(std::uint64_t working_set_bytes) {
  return working_set_bytes > last_level_cache_bytes() ? store_policy::streaming : store_policy::cached;
}

update_kernel::update_kernel(stencil formula, store_policy policy, instruction_set isa)
    : formula_(formula), policy_(policy), isa_(isa) {
  if (isa > best_instruction_set())
    throw imbrex::usage_error(std::string("this machine has no ") + name(isa) + ": use " +
                              name(best_instruction_set()));
}

void update_kernel::update(const block_view& view, row_range rows, face_set unread) const {
  update_rows(view, rows, unread);
}

void update_kernel::update_rows(const block_view& view, row_range rows, face_set unread) const {
  variant(isa_, formula_, policy_)(view, rows, formula_, unread);
}

void update_kernel::update_interior(const block_view& view, face_set pending) const {
  update_rows(view, interior_rows(view.size, pending), pending);
}

void update_kernel::update_exterior(const block_view& view, face_set pending) const {
  const extents size = view.size;
  const row_range inner = interior_rows(size, pending);
  update_rows(view, {0, inner.z0, 0, size.ny}, {});
  update_rows(view, {inner.z1, size.nz, 0, size.ny}, {});
  update_rows(view, {inner.z0, inner.z1, 0, inner.y0}, {});
  update_rows(view, {inner.z0, inner.z1, inner.y1, size.ny}, {});
  for (int hi = 0; hi < 2; ++hi) {
    if (!pending.has(hi != 0 ? face::xhi : face::xlo)) continue;
    for (std::int64_t z = inner.z0; z < inner.z1; ++z)
      for (std::int64_t y = inner.y0; y < inner.y1; ++y) update_x_end(view, formula_, y, z, hi);
  }
}

}  // namespace jacobi
