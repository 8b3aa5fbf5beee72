#include "star_kernels.h"

#include "imbrex/device/star/cuda_star_steps.h"
#include "imbrex/device/star/resident/cuda_star_resident.h"

namespace imbrex_test {

double* uneven_steps(imbrex::stream& s, const imbrex::star_grid& g, double* field, double* other, int steps) {
  return imbrex::star_steps(s, "uneven", g, field, other, steps, uneven_rule{0.2});
}

void uneven_resident(imbrex::stream& s, const imbrex::star_grid& g, double* field,
                     const imbrex::resident_rounds& rounds) {
  imbrex::star_resident(s, "uneven", g, field, rounds, uneven_rule{0.2});
}

}  // namespace imbrex_test
