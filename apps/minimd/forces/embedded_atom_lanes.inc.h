// The passes of the embedded atom method, so many pairs at a time as the instruction set has lanes: what
// lennard_jones_lanes.inc.h says of its file goes for this one.

namespace md::detail {
namespace {

/// A spline's cubics in lanes: two rows of four numbers each, of the value and of the slope.
struct lane_spline {
  const double* cubics;
  lanes::vector per_step, last;

  MD_TARGET explicit lane_spline(const spline& s)
      : cubics(s.cubics()[0].v), per_step(lanes::set1(s.per_step())), last(lanes::set1(s.last())) {
    static_assert(sizeof(spline::coefficients) == 8 * sizeof(double));
  }

  struct place {
    std::int32_t row[lanes::width];
    lanes::vector p;
  };
  MD_TARGET __attribute__((always_inline)) place at(lanes::vector x) const {
    const lanes::vector one = lanes::set1(1.0), t = lanes::add(lanes::mul(x, per_step), one);
    const lanes::integers m = lanes::truncated(lanes::min(lanes::max(t, one), last));
    place w;
    w.p = lanes::min(lanes::sub(t, lanes::real(m)), one);
    lanes::store(w.row, m);
    for (int k = 0; k < lanes::width; ++k) w.row[k] *= 2;
    return w;
  }
  MD_TARGET __attribute__((always_inline)) lanes::vector value(const place& w) const {
    lanes::vector c0, c1, c2, c3;
    lanes::rows(cubics, w.row, c0, c1, c2, c3);
    const lanes::vector square = lanes::add(lanes::mul(lanes::add(lanes::mul(c3, w.p), c2), w.p), c1);
    return lanes::add(lanes::mul(square, w.p), c0);
  }
  MD_TARGET __attribute__((always_inline)) lanes::vector slope(const place& w) const {
    lanes::vector c0, c1, c2, none;
    lanes::rows(cubics + 4, w.row, c0, c1, c2, none);
    return lanes::add(lanes::mul(lanes::add(lanes::mul(c2, w.p), c1), w.p), c0);
  }
};

/// Vectors from atoms j to atom i.
struct lane_separation {
  lanes::vector dx, dy, dz, square;

  MD_TARGET __attribute__((always_inline)) lane_separation(const vector4* x, const std::int32_t* j, lanes::vector ax,
                                                           lanes::vector ay, lanes::vector az) {
    lanes::gather(x, j, dx, dy, dz);
    dx = lanes::sub(ax, dx);
    dy = lanes::sub(ay, dy);
    dz = lanes::sub(az, dz);
    square = lanes::add(lanes::add(lanes::mul(dx, dx), lanes::mul(dy, dy)), lanes::mul(dz, dz));
  }
};

template <bool half>
MD_TARGET void sum_densities(const embedded_atom& what, const embedded_work& w) {
  using vector = lanes::vector;
  const force_work& o = w.forces;
  const vector cutoff = lanes::set1(what.cutoff_square);
  const lane_spline density(what.density);
  if constexpr (half)
    for (std::int32_t i = 0; i < o.num_own; ++i) w.density[i] = 0;
  for (std::int32_t i = 0; i < o.num_own; ++i) {
    const vector ax = lanes::set1(o.x[i].x), ay = lanes::set1(o.x[i].y), az = lanes::set1(o.x[i].z);
    vector sum = lanes::set1(0);
    const std::int32_t* const end = o.lists->end_of(i);
    for (const std::int32_t* j = o.lists->begin_of(i); j != end; j += lanes::width) {
      const lane_separation r(o.x, j, ax, ay, az);
      const vector rho = lanes::keep(density.value(density.at(lanes::sqrt(r.square))), lanes::less(r.square, cutoff));
      sum = lanes::add(sum, rho);
      if constexpr (half) {
        double each[lanes::width];
        lanes::store(each, rho);
        for (int k = 0; k < lanes::width; ++k)
          if (j[k] < o.num_own) w.density[j[k]] += each[k];
      }
    }
    w.density[i] = half ? w.density[i] + lanes::sum(sum) : lanes::sum(sum);
  }
}

template <bool half>
MD_TARGET void forces(const embedded_atom& what, const embedded_work& w) {
  using vector = lanes::vector;
  const force_work& o = w.forces;
  const vector cutoff = lanes::set1(what.cutoff_square), one = lanes::set1(1.0), middle = lanes::set1(0.5),
               nothing = lanes::set1(0);
  const lane_spline density(what.density), pair(what.pair);
  for (std::int32_t i = 0; i < o.num_own; ++i) {
    const vector ax = lanes::set1(o.x[i].x), ay = lanes::set1(o.x[i].y), az = lanes::set1(o.x[i].z);
    const vector slope_here = lanes::set1(w.slope[i]);
    vector fx = nothing, fy = nothing, fz = nothing, energy = nothing, virial = nothing;
    const std::int32_t* const end = o.lists->end_of(i);
    for (const std::int32_t* j = o.lists->begin_of(i); j != end; j += lanes::width) {
      const lane_separation r(o.x, j, ax, ay, az);
      const lanes::mask near = lanes::less(r.square, cutoff);
      const vector distance = lanes::sqrt(r.square), inverse = lanes::div(one, distance);
      const auto at = pair.at(distance);
      const vector phi = lanes::mul(pair.value(at), inverse);
      const vector phi_slope = lanes::sub(lanes::mul(pair.slope(at), inverse), lanes::mul(phi, inverse));
      const vector slopes = lanes::add(slope_here, lanes::at(w.slope, j));
      const vector both = lanes::add(lanes::mul(slopes, density.slope(density.at(distance))), phi_slope);
      const vector force = lanes::keep(lanes::sub(nothing, lanes::mul(both, inverse)), near);
      const vector px = lanes::mul(r.dx, force), py = lanes::mul(r.dy, force), pz = lanes::mul(r.dz, force);
      fx = lanes::add(fx, px);
      fy = lanes::add(fy, py);
      fz = lanes::add(fz, pz);
      if constexpr (half) lanes::take_from(o.f, j, px, py, pz);  // of ghosts nobody looks at it
      const vector share = half ? lanes::whole(j, o.num_own) : middle;
      energy = lanes::add(energy, lanes::keep(lanes::mul(share, phi), near));
      virial = lanes::add(virial, lanes::keep(lanes::mul(share, lanes::mul(r.square, force)), near));
    }
    vector4& f = o.f[i];
    const vector4 sum{lanes::sum(fx), lanes::sum(fy), lanes::sum(fz), 0};
    f = half ? vector4{f.x + sum.x, f.y + sum.y, f.z + sum.z, 0} : sum;
    if (o.energy == nullptr) continue;
    o.energy[i] += lanes::sum(energy);
    o.virial[i] = lanes::sum(virial);
  }
}

}  // namespace
}  // namespace md::detail
