#include "forces/lennard_jones.h"

namespace md::detail {
namespace {

template <bool half, bool wants_energy>
void forces(const lennard_jones& p, const force_work& w) {
  for (std::int32_t i = 0; i < w.num_own; ++i) {
    const vector4 a = w.x[i];
    double fx = 0, fy = 0, fz = 0, energy = 0, virial = 0;
    for (const std::int32_t* j = w.lists->begin_of(i); j != w.lists->end_of(i); ++j) {
      const vector4& b = w.x[*j];
      const double dx = a.x - b.x, dy = a.y - b.y, dz = a.z - b.z;
      const double square = dx * dx + dy * dy + dz * dz;
      if (!(square < p.cutoff_square)) continue;
      const double s2 = 1.0 / square, s6 = s2 * s2 * s2 * p.sigma6;
      const double force = 48.0 * s6 * (s6 - 0.5) * s2 * p.epsilon;
      fx += dx * force;
      fy += dy * force;
      fz += dz * force;
      if constexpr (half) {
        vector4& g = w.f[*j];
        g.x -= dx * force;
        g.y -= dy * force;
        g.z -= dz * force;
      }
      if constexpr (wants_energy) {
        const double share = half && *j < w.num_whole ? 1.0 : 0.5;
        energy += share * (4.0 * s6 * (s6 - 1.0) * p.epsilon);
        virial += share * (square * force);
      }
    }
    vector4& f = w.f[i];
    f = half ? vector4{f.x + fx, f.y + fy, f.z + fz, 0} : vector4{fx, fy, fz, 0};
    if constexpr (wants_energy) {
      w.energy[i] = energy;
      w.virial[i] = virial;
    }
  }
}

template <bool half>
void either(const lennard_jones& p, const force_work& w) {
  w.energy != nullptr ? forces<half, true>(p, w) : forces<half, false>(p, w);
}

}  // namespace

lennard_jones_variants lennard_jones_baseline() { return {&either<false>, &either<true>}; }

}  // namespace md::detail
