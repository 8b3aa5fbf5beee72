#include "system/initial_state.h"

#include <cmath>

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
