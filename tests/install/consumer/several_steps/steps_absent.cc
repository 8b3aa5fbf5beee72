#include "steps.h"

double* steps_on_gpu(imbrex::stream&, const imbrex::star_grid&, double* now, double*, int, const conduction&) {
  return now;
}
