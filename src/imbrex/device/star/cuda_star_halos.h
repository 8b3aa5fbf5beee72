#pragma once

#include "imbrex/device/cuda/cuda_launch.h"
#include "imbrex/device/kernel_cost.h"
#include "imbrex/device/star/star_halos.h"

/// For `.cu` files.
#if defined(__CUDACC__)

namespace imbrex {

namespace detail {

inline constexpr unsigned star_copy_threads = 256, star_copy_cells = 4, most_star_halos = 26;

struct star_copies {
  struct copy {
    double* in_field;  ///< the box's first cell
    double* dense;
    unsigned nx, ny, count;
  };
  std::int64_t pitch, plane;
  copy at[most_star_halos];
};

/// The copy's number is the grid's y.
template <bool packs>
__global__ void __launch_bounds__(star_copy_threads) star_copy_kernel(const __grid_constant__ star_copies copies) {
  const star_copies::copy& c = copies.at[blockIdx.y];
  const unsigned first = blockIdx.x * (star_copy_threads * star_copy_cells) + threadIdx.x;
#pragma unroll
  for (unsigned k = 0; k < star_copy_cells; ++k) {
    const unsigned i = first + k * star_copy_threads;
    if (i >= c.count) return;
    const unsigned row = i / c.nx, x = i - row * c.nx, z = row / c.ny, y = row - z * c.ny;
    double& cell = c.in_field[z * copies.plane + y * copies.pitch + x];
    if constexpr (packs) c.dense[i] = cell;
    if constexpr (!packs) cell = c.dense[i];
  }
}

template <bool packs>
void star_copy(stream& s, const char* name, const star_grid& g, double* field, int depth,
               std::span<const star_halo> halos) {
  constexpr std::int64_t of_block = star_copy_threads * star_copy_cells;
  for (; !halos.empty(); halos = halos.subspan(halos.size() < most_star_halos ? halos.size() : most_star_halos)) {
    star_copies copies{};
    copies.pitch = g.pitch;
    copies.plane = g.plane;
    std::int64_t most = 0, all = 0;
    unsigned num = 0;
    for (const star_halo& h : halos) {
      if (num == most_star_halos) break;
      const star_box b = packs ? inner_cells(g, h.offset, depth) : ghost_cells(g, h.offset, depth);
      const std::int64_t count = num_cells(b);
      copies.at[num++] = {field + b.z0 * g.plane + b.y0 * g.pitch + b.x0, h.cells, static_cast<unsigned>(b.x1 - b.x0),
                          static_cast<unsigned>(b.y1 - b.y0), static_cast<unsigned>(count)};
      most = count > most ? count : most;
      all += count;
    }
    if (most == 0) continue;
    expect(s, {2.0 * sizeof(double) * static_cast<double>(all)});
    launch(s, name, star_copy_kernel<packs>, dim3(static_cast<unsigned>((most + of_block - 1) / of_block), num),
           dim3(star_copy_threads), 0, copies);
  }
}

}  // namespace detail

/// From a field of `g` to the halos' buffers, and from these to the ghosts around it; `depth` cells deep. `field`
/// points to cell (0, 0, 0). One kernel for all; buffers may be memory of a peer. Returns at once, in the order of `s`;
/// all memory must stay until the stream has passed. `name`, of static lifetime, stands for it in traces and errors. A
/// halo has less than 2^32 cells. Throws what `launch` throws.
inline void star_pack(stream& s, const char* name, const star_grid& g, const double* field, int depth,
                      std::span<const star_halo> halos) {
  detail::star_copy<true>(s, name, g, const_cast<double*>(field), depth, halos);
}
inline void star_unpack(stream& s, const char* name, const star_grid& g, double* field, int depth,
                        std::span<const star_halo> halos) {
  detail::star_copy<false>(s, name, g, field, depth, halos);
}

}  // namespace imbrex

#endif
