#pragma once

#include <utility>

#include "imbrex/device/star/star_grid.h"

namespace imbrex {

/// What `star_steps` does on a GPU, in plain loops on the calling thread, with the same bits where `rule` computes the
/// same there. For the host device, and to check against. Returns when it has been done.
template <class Rule>
double* star_steps_on_host(const star_grid& g, double* field, double* other, int steps, const Rule& rule) {
  const star_box there = domain(g);
  const auto value = [&](const double* f, int x, int y, int z) {
    const bool is_there =
        x >= there.x0 && x < there.x1 && y >= there.y0 && y < there.y1 && z >= there.z0 && z < there.z1;
    return is_there ? f[z * g.plane + y * g.pitch + x] : g.outside;
  };
  for (int left = steps - 1; left >= 0; --left) {
    const star_box b = grown(g, left);
    for (int z = b.z0; z < b.z1; ++z) {
      for (int y = b.y0; y < b.y1; ++y) {
        for (int x = b.x0; x < b.x1; ++x) {
          const double here = value(field, x, y, z);
          const double without_above =
              rule.in_plane(here, value(field, x - 1, y, z), value(field, x + 1, y, z), value(field, x, y - 1, z),
                            value(field, x, y + 1, z), value(field, x, y, z - 1));
          other[z * g.plane + y * g.pitch + x] = rule.complete(without_above, here, value(field, x, y, z + 1));
        }
      }
    }
    std::swap(field, other);
  }
  return field;
}

}  // namespace imbrex
