// What 20_gpu_steps.cc has GPUs do.
#include "20_gpu_steps.h"

#include <imbrex/device/star/cuda_star_halos.h>
#include <imbrex/device/star/cuda_star_steps.h>

double* gpu_steps(imbrex::stream& s, const imbrex::star_grid& g, double* now, double* next, int steps) {
  return imbrex::star_steps(s, "steps", g, now, next, steps, mean_of_seven{});
}

void gpu_pack(imbrex::stream& s, const imbrex::star_grid& g, const double* field, int depth,
              const std::vector<imbrex::star_halo>& halos) {
  imbrex::star_pack(s, "pack", g, field, depth, halos);
}

void gpu_unpack(imbrex::stream& s, const imbrex::star_grid& g, double* field, int depth,
                const std::vector<imbrex::star_halo>& halos) {
  imbrex::star_unpack(s, "unpack", g, field, depth, halos);
}
