#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "support/exact_sum.h"
#include "system/domain.h"

/// What chares, and ranks, add up.
namespace md {

/// So many exact sums, as numbers that are added one by one.
template <int n>
using limbs_of = std::array<std::int64_t, static_cast<std::size_t>(n) * apps::exact_sum::num_limbs>;

template <int n>
limbs_of<n> limbs(const apps::exact_sum* const (&sums)[n]) {
  limbs_of<n> all{};
  for (int i = 0; i < n; ++i) {
    const auto one = sums[i]->limbs();
    std::copy(one.begin(), one.end(), all.begin() + i * apps::exact_sum::num_limbs);
  }
  return all;
}

template <std::size_t m>
apps::exact_sum sum_from(const std::array<std::int64_t, m>& all, int i) {
  apps::exact_sum::limb_array one{};
  std::copy_n(all.begin() + i * apps::exact_sum::num_limbs, one.size(), one.begin());
  return apps::exact_sum(one);
}

inline limbs_of<3> limbs(const thermo_sums& s) { return limbs<3>({&s.kinetic, &s.energy, &s.virial}); }
inline thermo_sums thermo_from(const limbs_of<3>& all) {
  return {sum_from(all, 0), sum_from(all, 1), sum_from(all, 2)};
}

/// What boxes tell of a state.
struct thermo_share {
  limbs_of<3> sums{};
  std::int64_t ns = 0;  ///< since the box was at step 0; of all the longest
};
struct add_shares {
  void operator()(thermo_share& into, thermo_share&& other) const {
    for (std::size_t i = 0; i < into.sums.size(); ++i) into.sums[i] += other.sums[i];
    into.ns = std::max(into.ns, other.ns);
  }
};

/// What a box did, or all.
struct block_facts {
  std::int64_t atoms = 0;
  std::int64_t bytes = 0;
  std::int64_t force_ns = 0, neighbour_ns = 0, other_ns = 0;  ///< computing; added over all boxes
};
struct add_facts {
  void operator()(block_facts& into, block_facts&& other) const {
    into.atoms += other.atoms;
    into.bytes += other.bytes;
    into.force_ns += other.force_ns;
    into.neighbour_ns += other.neighbour_ns;
    into.other_ns += other.other_ns;
  }
};

}  // namespace md
