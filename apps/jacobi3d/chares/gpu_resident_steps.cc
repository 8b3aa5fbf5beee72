#include "chares/gpu_resident_steps.h"

namespace jacobi {

imbrex::star_grid gpu_resident_steps::grid_of(extents size) {
  imbrex::star_grid g;
  g.nx = static_cast<int>(size.nx);
  g.ny = static_cast<int>(size.ny);
  g.nz = static_cast<int>(size.nz);
  return g;
}

gpu_resident_steps::gpu_resident_steps(imbrex::index3d at, imbrex::index3d extent, const options& o,
                                       const gpu_layout& layout)
    : layout_(layout), formula_(o.formula), grid_(grid_of(layout.size)) {
  grid_.pitch = layout.pitch;
  grid_.plane = layout.plane;
  grid_.open[static_cast<int>(imbrex::star_side::z_low)] = at.z > 0;
  grid_.open[static_cast<int>(imbrex::star_side::z_high)] = at.z + 1 < extent.z;
  grid_.outside = o.boundary.value;
}

void gpu_resident_steps::enqueue(imbrex::stream& s, const std::array<double*, 2>& fields, int parity, int steps,
                                 bool keeps_previous) {
  double* const now = fields[static_cast<std::size_t>(parity)];
  const auto some = [&](int num) { gpu_resident(s, grid_, layout_, formula_, now, star_.rounds(num)); };
  if (!keeps_previous) return some(steps);
  some(steps - 1);
  s.copy(fields[static_cast<std::size_t>(parity ^ 1)], now,
         static_cast<std::size_t>(layout_.doubles()) * sizeof(double));
  some(1);
}

}  // namespace jacobi
