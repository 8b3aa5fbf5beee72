#include "imbrex/device/star/cuda_star_halos.h"
#include "imbrex/device/star/cuda_star_steps.h"
#include "kernels/gpu_kernels.h"

namespace jacobi {
namespace {

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

}  // namespace

double* gpu_several_steps(imbrex::stream& s, const imbrex::star_grid& g, const gpu_layout& layout, stencil formula,
                          double* field, double* other, int steps, bool keeps_previous) {
  const auto last = keeps_previous ? imbrex::star_last_step::alone : imbrex::star_last_step::fused;
  const auto all_by = [&](const auto& rule) {
    return imbrex::star_steps(s, "jacobi several steps", g, field + layout.origin, other + layout.origin, steps, rule,
                              last);
  };
  const double* const result =
      formula.weighted ? all_by(weighted_rule{formula.alpha, formula.beta}) : all_by(mean_rule{});
  return result == field + layout.origin ? field : other;
}

void gpu_pack_deep(imbrex::stream& s, const imbrex::star_grid& g, const gpu_layout& layout, const double* field,
                   std::span<const imbrex::star_halo> halos) {
  imbrex::star_pack(s, "jacobi pack", g, field + layout.origin, static_cast<int>(layout.depth), halos);
}

void gpu_unpack_deep(imbrex::stream& s, const imbrex::star_grid& g, const gpu_layout& layout, double* field,
                     std::span<const imbrex::star_halo> halos) {
  imbrex::star_unpack(s, "jacobi unpack", g, field + layout.origin, static_cast<int>(layout.depth), halos);
}

}  // namespace jacobi
