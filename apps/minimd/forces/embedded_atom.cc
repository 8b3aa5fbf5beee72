#include "forces/embedded_atom.h"

#include <algorithm>
#include <cmath>

namespace md {
namespace {

// LAMMPS, and so the reference, use one interval less than a file has.
std::vector<double> without_last(const std::vector<double>& values) { return {values.begin(), values.end() - 1}; }

std::vector<double> pair_function(const std::vector<double>& charge) {
  std::vector<double> z;
  z.reserve(charge.size());
  for (const double c : charge) z.push_back(27.2 * 0.529 * c * c);
  return z;
}

}  // namespace

spline::spline(const std::vector<double>& values, double step) : per_step_(1.0 / step) {
  const int n = static_cast<int>(values.size());
  std::vector<double> f(values.size() + 1), s(values.size() + 1);  // from 1, as in the literature
  std::copy(values.begin(), values.end(), f.begin() + 1);
  s[1] = f[2] - f[1];
  s[2] = 0.5 * (f[3] - f[1]);
  s[n - 1] = 0.5 * (f[n] - f[n - 2]);
  s[n] = f[n] - f[n - 1];
  for (int m = 3; m <= n - 2; ++m) s[m] = ((f[m - 2] - f[m + 2]) + 8.0 * (f[m + 1] - f[m - 1])) / 12.0;
  last_ = n - 1;
  cubics_.resize(values.size());
  for (int m = 1; m < n; ++m) {
    coefficients& c = cubics_[m];
    c.v[0] = f[m];
    c.v[1] = s[m];
    c.v[2] = 3.0 * (f[m + 1] - f[m]) - 2.0 * s[m] - s[m + 1];
    c.v[3] = s[m] + s[m + 1] - 2.0 * (f[m + 1] - f[m]);
    c.d[0] = c.v[1] / step;
    c.d[1] = 2.0 * c.v[2] / step;
    c.d[2] = 3.0 * c.v[3] / step;
  }
}

embedded_atom::embedded_atom(const funcfl& file)
    : mass(file.mass),
      cutoff_square(file.cutoff * file.cutoff),
      embedding(without_last(file.embedding), file.drho),
      density(without_last(file.density), file.dr),
      pair(without_last(pair_function(file.charge)), file.dr) {}

namespace {

struct separation {
  double dx, dy, dz, square;
  separation(const vector4& a, const vector4& b)
      : dx(a.x - b.x), dy(a.y - b.y), dz(a.z - b.z), square(dx * dx + dy * dy + dz * dz) {}
};

template <bool half>
void sum_densities(const embedded_atom& what, const embedded_work& w) {
  const force_work& o = w.forces;
  if (half) std::fill_n(w.density, o.num_own, 0.0);
  for (std::int32_t i = 0; i < o.num_own; ++i) {
    double sum = 0;
    for (const std::int32_t* j = o.lists->begin_of(i); j != o.lists->end_of(i); ++j) {
      const separation r(o.x[i], o.x[*j]);
      if (!(r.square < what.cutoff_square)) continue;
      const double rho = what.density.value(what.density.at(std::sqrt(r.square)));
      sum += rho;
      if (half && *j < o.num_own) w.density[*j] += rho;
    }
    w.density[i] = half ? w.density[i] + sum : sum;
  }
}

template <bool half>
void sum_forces(const embedded_atom& what, const embedded_work& w) {
  const force_work& o = w.forces;
  for (std::int32_t i = 0; i < o.num_own; ++i) {
    double fx = 0, fy = 0, fz = 0, energy = 0, virial = 0;
    for (const std::int32_t* j = o.lists->begin_of(i); j != o.lists->end_of(i); ++j) {
      const separation r(o.x[i], o.x[*j]);
      if (!(r.square < what.cutoff_square)) continue;
      const double distance = std::sqrt(r.square), inverse = 1.0 / distance;
      const spline::place at = what.pair.at(distance);
      const double slope = what.density.slope(what.density.at(distance));
      const double phi = what.pair.value(at) * inverse;
      const double phi_slope = what.pair.slope(at) * inverse - phi * inverse;
      const double force = -(w.slope[i] * slope + w.slope[*j] * slope + phi_slope) * inverse;
      fx += r.dx * force;
      fy += r.dy * force;
      fz += r.dz * force;
      const bool whole = half && *j < o.num_own;
      if (whole) {
        vector4& g = o.f[*j];
        g.x -= r.dx * force;
        g.y -= r.dy * force;
        g.z -= r.dz * force;
      }
      energy += (whole ? 1.0 : 0.5) * phi;
      virial += (whole ? 1.0 : 0.5) * (r.square * force);
    }
    vector4& f = o.f[i];
    f = half ? vector4{f.x + fx, f.y + fy, f.z + fz, 0} : vector4{fx, fy, fz, 0};
    if (o.energy == nullptr) continue;
    o.energy[i] += energy;
    o.virial[i] = virial;
  }
}

}  // namespace

void embedded_functions::embed(const embedded_atom& what, const embedded_work& w) const {
  sum_densities(what, w);
  for (std::int32_t i = 0; i < w.forces.num_own; ++i) {
    const spline::place at = what.embedding.at(w.density[i]);
    w.slope[i] = what.embedding.slope(at);
    if (w.forces.energy != nullptr) w.forces.energy[i] = what.embedding.value(at);
  }
}

detail::embedded_variants detail::embedded_baseline() {
  return {{&sum_densities<false>, &sum_forces<false>}, {&sum_densities<true>, &sum_forces<true>}};
}

embedded_functions embedded_forces(list_style style, instruction_set isa) {
  static const detail::embedded_variants tables[] = {detail::embedded_baseline(), detail::embedded_avx2(),
                                                     detail::embedded_avx512()};
  const detail::embedded_variants& t = tables[static_cast<int>(isa)];
  return style == list_style::full ? t.full : t.half;
}

}  // namespace md
