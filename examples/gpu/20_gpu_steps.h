#pragma once

#include <imbrex/device/star/star_halos.h>

#include <vector>

namespace imbrex {
class stream;
}

#if defined(__CUDACC__)
#define ANYWHERE __host__ __device__
#else
#define ANYWHERE
#endif

/// A cell becomes the mean of itself and its six neighbours.
struct mean_of_seven {
  ANYWHERE double in_plane(double here, double west, double east, double south, double north, double below) const {
    return here + west + east + south + north + below;
  }
  ANYWHERE double complete(double sum, double /*here*/, double above) const { return (sum + above) * (1.0 / 7); }
};

/// On a GPU, in the order of stream `s`: in 20_gpu_steps.cu. Return at once.
double* gpu_steps(imbrex::stream& s, const imbrex::star_grid& g, double* now, double* next, int steps);
void gpu_pack(imbrex::stream& s, const imbrex::star_grid& g, const double* field, int depth,
              const std::vector<imbrex::star_halo>& halos);
void gpu_unpack(imbrex::stream& s, const imbrex::star_grid& g, double* field, int depth,
                const std::vector<imbrex::star_halo>& halos);
