#include "steps.h"

#include <imbrex/device/star/cuda_star_steps.h>

double* steps_on_gpu(imbrex::stream& s, const imbrex::star_grid& g, double* now, double* next, int steps,
                     const conduction& rule) {
  return imbrex::star_steps(s, "conduction", g, now, next, steps, rule);
}
