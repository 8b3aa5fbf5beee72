#include "gpu/expected_atoms.h"

#include <cmath>
#include <numbers>

#include "imbrex/base/error.h"

namespace md {
namespace {

/// By how much an atom has gone in one direction until lists are built again: as fast as the temperature says, on its
/// own way; the mean of those who go that way, times their share.
double mean_way(const model& m) {
  const problem& p = m.what;
  const double of_mass = m.mass * m.scale.mvv_to_energy;
  const double speed = std::sqrt(p.temperature * boltzmann(p.units) / of_mass);
  return speed * p.dt * static_cast<double>(p.reneighbour_every) / std::sqrt(2 * std::numbers::pi);
}

/// The volume from which atoms are within reach of the box at an offset.
double near_volume(const vector3& width, const signed char (&offset)[3], double reach) {
  double along = 1;
  int directions = 0;
  for (int d = 0; d < 3; ++d) offset[d] == 0 ? along *= width[d] : ++directions;
  const double across[] = {1, reach, reach * reach * std::numbers::pi / 4,
                           reach * reach * reach * std::numbers::pi / 6};
  return along * across[directions];
}

double left_volume(const vector3& width, const signed char (&offset)[3], double way) {
  double v = 1;
  for (int d = 0; d < 3; ++d) v *= offset[d] == 0 ? width[d] : way;
  return v;
}

template <class Volume>
std::vector<std::uint32_t> places(const gpu_targets& targets, double density, const Volume& volume_to) {
  std::vector<std::uint32_t> first{0};
  for (int k = 0; k < targets.num; ++k)
    first.push_back(first.back() + static_cast<std::uint32_t>(std::lround(density * volume_to(targets.offset[k]))));
  return first;
}

}  // namespace

expected_atoms::expected_atoms(const model& m, const box_index& where, const gpu_targets& targets) {
  const std::int64_t number = m.boxes.number_of(where), all = m.boxes.num_boxes(), n = m.scale.num_atoms;
  const auto before = [&](std::int64_t box) { return n / all * box + n % all * box / all; };
  own = static_cast<std::uint32_t>(before(number + 1) - before(number));
  const double density = static_cast<double>(n) / m.scale.volume, way = mean_way(m);
  vector3 width{};  // the same to the last bit in all boxes, so that they agree
  for (int d = 0; d < 3; ++d) width[d] = m.boxes.lengths()[d] / m.boxes.boxes()[d];
  leavers = places(targets, density, [&](const signed char(&to)[3]) { return left_volume(width, to, way); });
  ghosts = places(targets, density, [&](const signed char(&to)[3]) { return near_volume(width, to, m.boxes.reach()); });
}

void check_expected(const problem& p, bool has_initial, bool verifies, bool dumps) {
  const char* what = nullptr;
  if (verifies) what = "--verify compares atoms";
  if (dumps) what = "--dump writes atoms";
  if (has_initial) what = "--data_file gives atoms";
  if (p.imbalance != 1) what = "--imbalance places atoms";
  if (what == nullptr) return;
  throw imbrex::usage_error(std::string(what) +
                            ", and on simulated GPUs there are none: as many as there are on average are reckoned "
                            "with. Leave it out, or use --device host");
}

}  // namespace md
