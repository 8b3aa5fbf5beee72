#pragma once

#include "imbrex/device/star/resident/resident_rounds.h"
#include "imbrex/device/star/star_grid.h"

namespace imbrex {
class stream;
}

namespace imbrex_test {

#if defined(__CUDACC__)
#define IMBREX_TEST_ANYWHERE __host__ __device__
#else
#define IMBREX_TEST_ANYWHERE
#endif

/// No two operands may be exchanged.
struct uneven_rule {
  double a;

  IMBREX_TEST_ANYWHERE double in_plane(double here, double west, double east, double south, double north,
                                       double below) const {
    return a * here + 0.11 * west + 0.12 * east + 0.13 * south + 0.14 * north + 0.15 * below;
  }
  IMBREX_TEST_ANYWHERE double complete(double sum, double here, double above) const {
    return sum + 0.16 * above - 0.01 * here;
  }
};

double* uneven_steps(imbrex::stream& s, const imbrex::star_grid& g, double* field, double* other, int steps);
void uneven_resident(imbrex::stream& s, const imbrex::star_grid& g, double* field,
                     const imbrex::resident_rounds& rounds);

}  // namespace imbrex_test
