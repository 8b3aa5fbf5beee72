#include "system/initial_state.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "system/random.h"

namespace md {
namespace {

double into_period(double x, double lo, double length) {
  const double from = x - lo, y = from - length * std::floor(from / length);
  return y < length ? y : 0.0;
}

/// As those of the lattice, from the atom's id.
vector3 raw_velocity(std::int64_t id) {
  park_miller random(id);
  vector3 velocity{};
  for (double& v : velocity) {
    random.skip(5);
    v = random.next();
  }
  return velocity;
}

}  // namespace

void add_initial_atoms(domain& box, const model& m, const initial_atoms* initial) {
  if (initial == nullptr) {
    lattice(m.what).for_each_within(box.lo(), box.hi(), [&box](const atom_record& a) { box.add(a); });
    return;
  }
  for (std::size_t i = 0; i < initial->ids.size(); ++i) {
    atom_record a{{}, {}, initial->ids[i]};
    for (int d = 0; d < 3; ++d)
      a.position[d] = into_period(initial->positions[i][d], initial->box_lo[d], m.boxes.lengths()[d]);
    if (m.boxes.owner(a.position.data()) != box.where()) continue;
    a.velocity = initial->velocities.empty() ? raw_velocity(a.id) : initial->velocities[i];
    box.add(a);
  }
}

double densest_of(const initial_atoms& initial, const vector3& lengths, double edge) {
  std::array<std::size_t, 3> cubes{};
  double volume = 1;
  for (int d = 0; d < 3; ++d) {
    cubes[d] = std::max<std::size_t>(1, static_cast<std::size_t>(std::min(lengths[d] / edge, 1024.0)));
    volume *= lengths[d] / static_cast<double>(cubes[d]);
  }
  std::vector<std::uint32_t> count(cubes[0] * cubes[1] * cubes[2]);
  for (const vector3& x : initial.positions) {
    std::size_t cube = 0;
    for (int d = 2; d >= 0; --d) {
      const double part = into_period(x[d], initial.box_lo[d], lengths[d]) / lengths[d];
      cube = cube * cubes[d] + std::min(cubes[d] - 1, static_cast<std::size_t>(part * static_cast<double>(cubes[d])));
    }
    ++count[cube];
  }
  return static_cast<double>(*std::ranges::max_element(count)) / volume;
}

bool needs_velocities(const initial_atoms* initial) { return initial == nullptr || initial->velocities.empty(); }

vector3 lengths_of(const problem& p, const initial_atoms* initial) {
  if (initial == nullptr) return lattice(p).lengths();
  vector3 l{};
  for (int d = 0; d < 3; ++d) l[d] = initial->box_hi[d] - initial->box_lo[d];
  return l;
}

std::int64_t num_atoms_of(const problem& p, const initial_atoms* initial) {
  return initial == nullptr ? lattice(p).num_atoms() : static_cast<std::int64_t>(initial->ids.size());
}

}  // namespace md
