#include "system/lattice.h"

#include <algorithm>
#include <cmath>

#include "system/random.h"

namespace md {

namespace {

/// In [0, 1), of the site alone (Steele, Lea, Flood: splitmix64, OOPSLA 2014).
double chance_of(std::int64_t id) {
  auto z = static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

}  // namespace

double lattice_constant(const problem& p) {
  return p.lattice_constant != 0 ? p.lattice_constant : std::pow(4.0 / p.density, 1.0 / 3.0);
}

lattice::lattice(const problem& p) : cells_(p.cells), constant_(md::lattice_constant(p)) {
  if (p.imbalance == 1) return;
  const auto layers = static_cast<std::size_t>(2 * cells_[2]);
  for (std::size_t k = 0; k < layers; ++k)
    share_.push_back(std::pow(p.imbalance, (static_cast<double>(k) + 0.5) / static_cast<double>(layers) - 1));
}

bool lattice::is_taken(std::int64_t k, std::int64_t id) const {
  return share_.empty() || chance_of(id) < share_[static_cast<std::size_t>(k)];
}

std::int64_t lattice::num_atoms() const {
  if (share_.empty()) return 4 * cells_[0] * cells_[1] * cells_[2];
  std::int64_t n = 0;
  for (std::int64_t k = 0; k < 2 * cells_[2]; ++k)
    for (std::int64_t j = 0; j < 2 * cells_[1]; ++j)
      for (std::int64_t i = (j + k) % 2; i < 2 * cells_[0]; i += 2) n += is_taken(k, id_of(i, j, k)) ? 1 : 0;
  return n;
}

vector3 lattice::lengths() const {
  vector3 l{};
  for (int d = 0; d < 3; ++d) l[d] = static_cast<double>(cells_[d]) * constant_;
  return l;
}

atom_record lattice::at(std::int64_t i, std::int64_t j, std::int64_t k) const {
  atom_record a;
  a.id = id_of(i, j, k);
  const double half = 0.5 * constant_;
  a.position = {half * static_cast<double>(i), half * static_cast<double>(j), half * static_cast<double>(k)};
  park_miller random(a.id);
  for (double& v : a.velocity) {
    random.skip(5);
    v = random.next();
  }
  return a;
}

void lattice::for_each_within(const vector3& lo, const vector3& hi,
                              const std::function<void(const atom_record&)>& take) const {
  std::array<std::int64_t, 3> first{}, last{};
  for (int d = 0; d < 3; ++d) {  // one more than needed on each side: positions decide
    first[d] = std::max<std::int64_t>(0, static_cast<std::int64_t>(lo[d] / (0.5 * constant_)) - 1);
    last[d] = std::min<std::int64_t>(2 * cells_[d] - 1, static_cast<std::int64_t>(hi[d] / (0.5 * constant_)) + 1);
  }
  for (std::int64_t k = first[2]; k <= last[2]; ++k)
    for (std::int64_t j = first[1]; j <= last[1]; ++j)
      for (std::int64_t i = first[0] + (first[0] + j + k) % 2; i <= last[0]; i += 2) {
        if (!is_taken(k, id_of(i, j, k))) continue;
        const atom_record a = at(i, j, k);
        bool inside = true;
        for (int d = 0; d < 3; ++d) inside = inside && a.position[d] >= lo[d] && a.position[d] < hi[d];
        if (inside) take(a);
      }
}

}  // namespace md
