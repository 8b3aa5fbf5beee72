#include "imbrex/device/star/resident/cuda_star_resident.h"
#include "kernels/gpu_kernels.h"
#include "kernels/gpu_rules.cuh"

namespace jacobi {

void gpu_resident(imbrex::stream& s, const imbrex::star_grid& g, const gpu_layout& layout, stencil formula,
                  double* field, const imbrex::resident_rounds& rounds) {
  const auto all_by = [&](const auto& rule) {
    imbrex::star_resident(s, "jacobi resident", g, field + layout.origin, rounds, rule);
  };
  formula.weighted ? all_by(gpu::weighted_rule{formula.alpha, formula.beta}) : all_by(gpu::mean_rule{});
}

}  // namespace jacobi
