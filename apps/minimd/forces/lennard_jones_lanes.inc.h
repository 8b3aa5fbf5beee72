// Lennard-Jones forces, so many pairs at a time as the instruction set has lanes. A file that includes this first
// includes lanes_<instruction set>.inc.h, which defines
//
//   MD_TARGET     the function attribute that selects the instruction set
//   struct lanes  the vector operations, all inlined:
//     width, vector, mask
//     set1, add, sub, mul, div, sqrt, min, max, sum (of all lanes), store
//     less(a, b), any(mask), keep(v, mask): v where set, else 0
//     whole(j, num): 1 where j[lane] < num, else 0.5
//     gather(x, j, X, Y, Z): the coordinates of atoms j[0], j[1], ... in one order of lanes, the same for all three
//     take_from(f, j, X, Y, Z): takes these off the forces of those atoms, in the same order of lanes
//     at(all, j): all[j[0]], all[j[1]], ... in that order
//     rows(all, j, A, B, C, D): the four numbers from all[4 * j[lane]] on, in that order, too
//     integers, truncated, real, store
//
// All of it is in an unnamed namespace and calls nothing of the standard library that is not inlined into it, so that
// no code for a wide instruction set can become the copy of a function that the rest of the program uses.

namespace md::detail {
namespace {

template <bool half, bool wants_energy>
MD_TARGET void forces(const lennard_jones& p, const force_work& w) {
  using vector = lanes::vector;
  const vector cutoff = lanes::set1(p.cutoff_square), one = lanes::set1(1.0), sigma6 = lanes::set1(p.sigma6);
  const vector strength = lanes::set1(48.0 * p.epsilon), depth = lanes::set1(4.0 * p.epsilon),
               middle = lanes::set1(0.5);
  for (std::int32_t i = 0; i < w.num_own; ++i) {
    const vector ax = lanes::set1(w.x[i].x), ay = lanes::set1(w.x[i].y), az = lanes::set1(w.x[i].z);
    vector fx = lanes::set1(0), fy = fx, fz = fx, energy = fx, virial = fx;
    const std::int32_t* const end = w.lists->end_of(i);
    for (const std::int32_t* j = w.lists->begin_of(i); j != end; j += lanes::width) {
      vector dx, dy, dz;
      lanes::gather(w.x, j, dx, dy, dz);
      dx = lanes::sub(ax, dx);
      dy = lanes::sub(ay, dy);
      dz = lanes::sub(az, dz);
      const vector square = lanes::add(lanes::add(lanes::mul(dx, dx), lanes::mul(dy, dy)), lanes::mul(dz, dz));
      const lanes::mask near = lanes::less(square, cutoff);
      const vector s2 = lanes::div(one, square);
      const vector s6 = lanes::mul(lanes::mul(lanes::mul(s2, s2), s2), sigma6);
      const vector force =
          lanes::keep(lanes::mul(lanes::mul(lanes::mul(strength, s6), lanes::sub(s6, middle)), s2), near);
      dx = lanes::mul(dx, force);
      dy = lanes::mul(dy, force);
      dz = lanes::mul(dz, force);
      fx = lanes::add(fx, dx);
      fy = lanes::add(fy, dy);
      fz = lanes::add(fz, dz);
      if constexpr (half) lanes::take_from(w.f, j, dx, dy, dz);
      if constexpr (wants_energy) {
        const vector share = half ? lanes::whole(j, w.num_whole) : middle;
        const vector depths = lanes::mul(lanes::mul(depth, s6), lanes::sub(s6, one));
        energy = lanes::add(energy, lanes::keep(lanes::mul(share, depths), near));
        virial = lanes::add(virial, lanes::keep(lanes::mul(share, lanes::mul(square, force)), near));
      }
    }
    vector4& f = w.f[i];
    const vector4 sum{lanes::sum(fx), lanes::sum(fy), lanes::sum(fz), 0};
    f = half ? vector4{f.x + sum.x, f.y + sum.y, f.z + sum.z, 0} : sum;
    if constexpr (wants_energy) {
      w.energy[i] = lanes::sum(energy);
      w.virial[i] = lanes::sum(virial);
    }
  }
}

template <bool half>
void either(const lennard_jones& p, const force_work& w) {
  w.energy != nullptr ? forces<half, true>(p, w) : forces<half, false>(p, w);
}

}  // namespace
}  // namespace md::detail
