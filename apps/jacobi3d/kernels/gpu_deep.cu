#include "imbrex/device/star/cuda_star_halos.h"
#include "imbrex/device/star/cuda_star_steps.h"
#include "kernels/gpu_kernels.h"
#include "kernels/gpu_rules.cuh"

namespace jacobi {
double* gpu_several_steps(imbrex::stream& s, const imbrex::star_grid& g, const gpu_layout& layout, stencil formula,
                          double* field, double* other, int steps, bool keeps_previous) {
  const auto last = keeps_previous ? imbrex::star_last_step::alone : imbrex::star_last_step::fused;
  const auto all_by = [&](const auto& rule) {
    return imbrex::star_steps(s, "jacobi several steps", g, field + layout.origin, other + layout.origin, steps, rule,
                              last);
  };
  const double* const result =
      formula.weighted ? all_by(gpu::weighted_rule{formula.alpha, formula.beta}) : all_by(gpu::mean_rule{});
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
