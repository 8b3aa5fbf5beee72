// The loops of the update, written once for all instruction sets. A file that includes this first defines
//
//   JACOBI_TARGET   the function attribute that selects the instruction set (may be empty)
//   struct lanes    the vector operations, all `JACOBI_TARGET` and inlined:
//     width, vector, mask; load, store, stream, set1, add, mul
//     shift_up(before, v)     {last of before, all but the last of v}: the left neighbours of v
//     shift_down(v, after)    {all but the first of v, first of after}: the right neighbours
//     mask_at(lane)           selects one lane, none if lane == width;  mask_below(lane) selects the lanes before it
//     replace(v, m, w)        w where selected, else v;  keep(v, m)  v where selected, else +0.0
//     fence()                 orders streaming stores before later ones
//
// All of it is in an unnamed namespace and calls nothing of the standard library, so that no code for a wide
// instruction set can become the copy of an inline function that the rest of the program uses.

namespace jacobi::detail {
namespace {

#define JACOBI_INLINE __attribute__((always_inline)) inline

/// Doubles that three planes of a tile of rows may take, so that a plane is read from memory once and then found in the
/// second-level cache when it is the centre plane and the lower plane.
constexpr std::int64_t tile_doubles = std::int64_t{256} * 1024 / sizeof(double);

/// How far ahead, in doubles, the upper plane is prefetched: it alone comes from memory, and the hardware's own
/// prefetching ends at every page. Measured: 3 to 6 % on grids beyond the last-level cache; 64 to 512 do alike.
constexpr std::int64_t prefetch_distance = 256;

/// What a row's update needs besides the five row pointers.
struct row_constants {
  lanes::vector weight0, weight1;  // mean: 1/7 and unused; weighted: alpha, beta
  lanes::mask edge;                // where the first padding cell is, if the last vector has one
  lanes::mask inside;              // the lanes of the last vector that are cells
  std::int64_t last_start;         // where the last vector with cells starts
  std::int64_t nx, pitch;
};

struct row_pointers {
  const double *c, *ym, *yp, *zm, *zp;
  double* out;
  double* copy;  // second destination of the row, or null
  double xlo, xhi;
};

template <bool Weighted>
JACOBI_TARGET JACOBI_INLINE lanes::vector combine(const row_constants& k, const row_pointers& r, std::int64_t x,
                                                  lanes::vector c, lanes::vector xm, lanes::vector xp) {
  if (x % 8 == 0) __builtin_prefetch(r.zp + x + prefetch_distance);
  lanes::vector sum = Weighted ? lanes::add(xm, xp) : lanes::add(lanes::add(c, xm), xp);
  sum = lanes::add(sum, lanes::load(r.ym + x));
  sum = lanes::add(sum, lanes::load(r.yp + x));
  sum = lanes::add(sum, lanes::load(r.zm + x));
  sum = lanes::add(sum, lanes::load(r.zp + x));
  if constexpr (Weighted) return lanes::add(lanes::mul(k.weight0, c), lanes::mul(k.weight1, sum));
  return lanes::mul(sum, k.weight0);
}

template <bool Streaming>
JACOBI_TARGET JACOBI_INLINE void put(const row_pointers& r, std::int64_t x, lanes::vector value) {
  if constexpr (Streaming)
    lanes::stream(r.out + x, value);
  else
    lanes::store(r.out + x, value);
  if (r.copy != nullptr) lanes::store(r.copy + x, value);
}

/// Updates one row and reports the first and the last cell of the result.
template <bool Weighted, bool Streaming>
JACOBI_TARGET JACOBI_INLINE void update_row(const row_constants& k, const row_pointers& r, double* first,
                                            double* last) {
  alignas(64) double ends[2][lanes::width];
  const lanes::vector xhi = lanes::set1(r.xhi);
  lanes::vector before = lanes::set1(r.xlo);
  lanes::vector here = lanes::load(r.c);
  if (k.last_start > 0) {
    const lanes::vector after = lanes::load(r.c + lanes::width);
    const lanes::vector value =
        combine<Weighted>(k, r, 0, here, lanes::shift_up(before, here), lanes::shift_down(here, after));
    put<Streaming>(r, 0, value);
    lanes::store(ends[0], value);
    before = here;
    here = after;
  }
  for (std::int64_t x = lanes::width; x < k.last_start; x += lanes::width) {
    const lanes::vector after = lanes::load(r.c + x + lanes::width);
    put<Streaming>(r, x,
                   combine<Weighted>(k, r, x, here, lanes::shift_up(before, here), lanes::shift_down(here, after)));
    before = here;
    here = after;
  }
  here = lanes::replace(here, k.edge, xhi);
  const lanes::vector tail = lanes::keep(
      combine<Weighted>(k, r, k.last_start, here, lanes::shift_up(before, here), lanes::shift_down(here, xhi)),
      k.inside);
  put<Streaming>(r, k.last_start, tail);
  for (std::int64_t x = k.last_start + lanes::width; x < k.pitch; x += lanes::width)
    put<Streaming>(r, x, lanes::set1(0.0));  // whole cache lines, so that streaming stores combine
  if (k.last_start == 0) lanes::store(ends[0], tail);
  lanes::store(ends[1], tail);
  *first = ends[0][0];
  *last = ends[1][k.nx - 1 - k.last_start];
}

template <bool Weighted, bool Streaming>
JACOBI_TARGET void update_range(const block_view& v, row_range rows, const stencil& formula, face_set unread) {
  if (rows.z0 >= rows.z1 || rows.y0 >= rows.y1) return;
  row_constants k;
  k.weight0 = lanes::set1(Weighted ? formula.alpha : 1.0 / 7.0);
  k.weight1 = lanes::set1(formula.beta);
  k.last_start = (v.size.nx - 1) / lanes::width * lanes::width;
  k.edge = lanes::mask_at(v.size.nx - k.last_start);
  k.inside = lanes::mask_below(v.size.nx - k.last_start);
  k.nx = v.size.nx;
  k.pitch = v.pitch;

  const std::int64_t ny = v.size.ny, nz = v.size.nz, plane = ny * v.pitch;
  const bool read_xlo = !unread.has(face::xlo), read_xhi = !unread.has(face::xhi);
  const std::int64_t num_rows = rows.y1 - rows.y0;
  const std::int64_t fitting = tile_doubles / (3 * v.pitch) < 8 ? 8 : tile_doubles / (3 * v.pitch);
  const std::int64_t num_tiles = (num_rows + fitting - 1) / fitting;
  for (std::int64_t tile = 0; tile < num_tiles; ++tile) {
    const std::int64_t y0 = rows.y0 + num_rows * tile / num_tiles;
    const std::int64_t y1 = rows.y0 + num_rows * (tile + 1) / num_tiles;
    for (std::int64_t z = rows.z0; z < rows.z1; ++z) {
      const double* zm = z > 0 ? v.in + (z - 1) * plane : v.ghost_z[0];
      const double* zp = z + 1 < nz ? v.in + (z + 1) * plane : v.ghost_z[1];
      for (std::int64_t y = y0; y < y1; ++y) {
        const std::int64_t row = z * ny + y;
        row_pointers r;
        r.c = v.in + row * v.pitch;
        r.ym = y > 0 ? r.c - v.pitch : v.ghost_y[0] + z * v.ghost_y_stride[0];
        r.yp = y + 1 < ny ? r.c + v.pitch : v.ghost_y[1] + z * v.ghost_y_stride[1];
        r.zm = zm + y * v.pitch;
        r.zp = zp + y * v.pitch;
        r.out = v.out + row * v.pitch;
        r.copy = nullptr;
        if (y == 0 && v.pack_y[0] != nullptr) r.copy = v.pack_y[0] + z * v.pitch;
        if (y == ny - 1 && v.pack_y[1] != nullptr) r.copy = v.pack_y[1] + z * v.pitch;
        r.xlo = read_xlo ? v.ghost_x[0][row] : 0.0;
        r.xhi = read_xhi ? v.ghost_x[1][row] : 0.0;
        double first, last;
        update_row<Weighted, Streaming>(k, r, &first, &last);
        if (v.pack_x[0] != nullptr) v.pack_x[0][row] = first;
        if (v.pack_x[1] != nullptr) v.pack_x[1][row] = last;
        if (ny == 1 && v.pack_y[0] != nullptr && v.pack_y[1] != nullptr)
          for (std::int64_t x = 0; x < v.pitch; ++x) v.pack_y[0][z * v.pitch + x] = r.copy[x];
      }
    }
  }
  if (Streaming) lanes::fence();
}

variant_table all_variants() {
  variant_table table;
  table.update[0][0] = &update_range<false, false>;
  table.update[0][1] = &update_range<false, true>;
  table.update[1][0] = &update_range<true, false>;
  table.update[1][1] = &update_range<true, true>;
  return table;
}

#undef JACOBI_INLINE

}  // namespace
}  // namespace jacobi::detail
