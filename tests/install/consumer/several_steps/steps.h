#pragma once

#include <imbrex/device/star/star_grid.h>

namespace imbrex {
class stream;
}

#if defined(__CUDACC__)
#define ANYWHERE __host__ __device__
#else
#define ANYWHERE
#endif

/// Heat that is conducted differently along each axis.
struct conduction {
  double x, y, z, self;

  ANYWHERE double in_plane(double, double west, double east, double south, double north, double below) const {
    return x * (west + east) + y * (south + north) + z * below;
  }
  ANYWHERE double complete(double sum, double here, double above) const { return self * here + sum + z * above; }
};

double* steps_on_gpu(imbrex::stream& s, const imbrex::star_grid& g, double* now, double* next, int steps,
                     const conduction& rule);
