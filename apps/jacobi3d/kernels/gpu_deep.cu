#include <algorithm>

#include "imbrex/device/star/cuda_star_steps.h"
#include "kernels/gpu_kernels.h"
#include "kernels/gpu_stencil.cuh"

namespace jacobi {
namespace {

// ------------------------------------------------------------------------------------------------ several steps

/// The operations of `gpu::updated`, cut where the plane above comes in.
struct mean_rule {
  __device__ __forceinline__ double in_plane(double here, double west, double east, double south, double north,
                                             double below) const {
    return __dadd_rn(__dadd_rn(__dadd_rn(__dadd_rn(__dadd_rn(here, west), east), south), north), below);
  }
  __device__ __forceinline__ double complete(double sum, double, double above) const {
    return __dmul_rn(__dadd_rn(sum, above), 1.0 / 7.0);
  }
};

struct weighted_rule {
  double alpha, beta;

  __device__ __forceinline__ double in_plane(double, double west, double east, double south, double north,
                                             double below) const {
    return __dadd_rn(__dadd_rn(__dadd_rn(__dadd_rn(west, east), south), north), below);
  }
  __device__ __forceinline__ double complete(double sum, double here, double above) const {
    return __dadd_rn(__dmul_rn(alpha, here), __dmul_rn(beta, __dadd_rn(sum, above)));
  }
};

// ------------------------------------------------------------------------------------------------ halos

constexpr unsigned threads = 256, cells_of_thread = 4, most_boxes = 26;

struct box_copy {
  const double* from;
  double* to;
  unsigned nx, ny, count;
};
struct box_copies {
  std::int64_t pitch, plane;
  box_copy at[most_boxes];
};

/// The copy's number is the grid's y.
template <bool packs>
__global__ void __launch_bounds__(threads) box_kernel(const __grid_constant__ box_copies copies) {
  const box_copy& c = copies.at[blockIdx.y];
  const unsigned first = blockIdx.x * (threads * cells_of_thread) + threadIdx.x;
#pragma unroll
  for (unsigned k = 0; k < cells_of_thread; ++k) {
    const unsigned i = first + k * threads;
    if (i >= c.count) return;
    const unsigned row = i / c.nx, x = i - row * c.nx, z = row / c.ny, y = row - z * c.ny;
    const std::int64_t in_field = z * copies.plane + y * copies.pitch + x;
    if constexpr (packs) c.to[i] = c.from[in_field];
    if constexpr (!packs) c.to[in_field] = c.from[i];
  }
}

template <bool packs>
void copy_boxes(imbrex::stream& s, const char* name, const gpu_layout& layout, std::span<const gpu_box_copy> boxes) {
  if (boxes.empty()) return;
  box_copies copies{};
  copies.pitch = layout.pitch;
  copies.plane = layout.plane;
  std::int64_t most = 0, all = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const gpu_cells& b = boxes[i].cells;
    const double* const from = boxes[i].from + (packs ? b.first : 0);
    double* const to = boxes[i].to + (packs ? 0 : b.first);
    copies.at[i] = {from, to, static_cast<unsigned>(b.nx), static_cast<unsigned>(b.ny),
                    static_cast<unsigned>(b.count())};
    most = std::max(most, b.count());
    all += b.count();
  }
  const auto blocks = static_cast<unsigned>((most + threads * cells_of_thread - 1) / (threads * cells_of_thread));
  imbrex::expect(s, {2.0 * sizeof(double) * static_cast<double>(all)});
  imbrex::launch(s, name, box_kernel<packs>, dim3(blocks, static_cast<unsigned>(boxes.size())), dim3(threads), 0,
                 copies);
}

}  // namespace

double* gpu_several_steps(imbrex::stream& s, const gpu_layout& layout, stencil formula,
                          const std::array<bool, num_faces>& open, double outside, double* field, double* other,
                          int steps, bool keeps_previous) {
  imbrex::star_grid g;
  g.nx = static_cast<int>(layout.size.nx);
  g.ny = static_cast<int>(layout.size.ny);
  g.nz = static_cast<int>(layout.size.nz);
  g.pitch = layout.pitch;
  g.plane = layout.plane;
  std::copy(open.begin(), open.end(), g.open);
  g.outside = outside;
  const auto all_by = [&](const auto& rule) {
    return imbrex::star_steps(s, "jacobi several steps", g, field + layout.origin, other + layout.origin, steps, rule,
                              keeps_previous ? imbrex::star_last_step::alone : imbrex::star_last_step::fused);
  };
  const double* const result =
      formula.weighted ? all_by(weighted_rule{formula.alpha, formula.beta}) : all_by(mean_rule{});
  return result == field + layout.origin ? field : other;
}

void gpu_pack_boxes(imbrex::stream& s, const gpu_layout& layout, std::span<const gpu_box_copy> boxes) {
  copy_boxes<true>(s, "jacobi pack boxes", layout, boxes);
}

void gpu_unpack_boxes(imbrex::stream& s, const gpu_layout& layout, std::span<const gpu_box_copy> boxes) {
  copy_boxes<false>(s, "jacobi unpack boxes", layout, boxes);
}

}  // namespace jacobi
