#pragma once

#include <vector>

#include "forces/lennard_jones.h"
#include "problem.h"

namespace md {

/// A function given at equal steps, between them the cubic of Hermite whose slopes are differences over five points, as
/// LAMMPS and the reference have it.
class spline {
 public:
  spline() = default;
  /// values[0] is f(0), values[1] f(step), ...; at least 5.
  spline(const std::vector<double>& values, double step);

  struct place {
    int m;     ///< which cubic
    double p;  ///< where in it, in [0, 1]
  };
  /// Of argument `x`; beyond the ends that of the end.
  place at(double x) const {
    const double t = x * per_step_ + 1.0;
    int m = static_cast<int>(t);
    m = m < 1 ? 1 : m > last_ ? last_ : m;
    const double p = t - m;
    return {m, p < 1.0 ? p : 1.0};
  }
  double value(const place& w) const {
    const coefficients& c = cubics_[static_cast<std::size_t>(w.m)];
    return ((c.v[3] * w.p + c.v[2]) * w.p + c.v[1]) * w.p + c.v[0];
  }
  double slope(const place& w) const {
    const coefficients& c = cubics_[static_cast<std::size_t>(w.m)];
    return (c.d[2] * w.p + c.d[1]) * w.p + c.d[0];
  }

  struct alignas(64) coefficients {
    double v[4];  ///< of the value, lowest power first
    double d[3];  ///< of the slope
  };
  /// \name For a device that has a copy
  ///@{
  const std::vector<coefficients>& cubics() const { return cubics_; }
  double per_step() const { return per_step_; }
  int last() const { return last_; }
  ///@}

 private:
  std::vector<coefficients> cubics_;
  double per_step_ = 1;
  int last_ = 1;
};

/// One kind of atom of the embedded atom method: E = sum F(rho_i) + sum over pairs phi(r), rho_i = sum rho(r).
struct embedded_atom {
  explicit embedded_atom(const funcfl& file);

  double mass;
  double cutoff_square;
  spline embedding, density,
      pair;  ///< F(rho), rho(r), r phi(r) = 27.2 * 0.529 Z(r)^2 (Hartree and Bohr, in eV Angstrom)
};

/// What the two passes over the lists share; owns nothing. Arrays of own atoms, `slope` of ghosts, too.
struct embedded_work {
  force_work forces;
  double* density = nullptr;
  double* slope = nullptr;  ///< F'(rho)
};

/// The two passes of the embedded atom method.
struct embedded_functions {
  using pass = void (*)(const embedded_atom&, const embedded_work&);
  pass sum_densities = nullptr;
  pass sum_forces = nullptr;

  /// First pass: densities of own atoms, and F' of them; F into `forces.energy` if that is wanted.
  void embed(const embedded_atom& what, const embedded_work& w) const;
  /// Second pass, when the slopes of ghosts have come: forces; pairs' energies are added to `forces.energy`.
  void forces(const embedded_atom& what, const embedded_work& w) const { sum_forces(what, w); }
};
/// Baseline sums in the order of the lists; the others in lanes.
embedded_functions embedded_forces(list_style style, instruction_set isa);

namespace detail {
struct embedded_variants {
  embedded_functions full, half;
};
embedded_variants embedded_baseline();
embedded_variants embedded_avx2();
embedded_variants embedded_avx512();
}  // namespace detail

}  // namespace md
