#include <gmock/gmock.h>

#include <cmath>

#include "boxes.h"
#include "forces/embedded_atom.h"
#include "forces/lennard_jones.h"
#include "imbrex/base/error.h"
#include "model_of.h"

namespace forces_test {

using namespace md;
using namespace md_test;

namespace {

std::vector<instruction_set> all_sets() {
  std::vector<instruction_set> sets{instruction_set::baseline};
  if (best_instruction_set() >= instruction_set::avx2) sets.push_back(instruction_set::avx2);
  if (best_instruction_set() >= instruction_set::avx512) sets.push_back(instruction_set::avx512);
  return sets;
}

/// A lattice shaken out of its places.
initial_atoms shaken(const problem& p, double by) {
  initial_atoms a;
  const lattice l(p);
  a.box_hi = l.lengths();
  l.for_each_within({0, 0, 0}, l.lengths(), [&](const atom_record& r) {
    a.ids.push_back(r.id);
    a.positions.push_back(r.position);
    for (int d = 0; d < 3; ++d) a.positions.back()[d] += by * (r.velocity[d] - 0.5);
    a.velocities.push_back({});
  });
  return a;
}

double potential(const problem& p, const way& w, const funcfl* eam, const initial_atoms& a) {
  const model m = model_of(p, w, eam, &a);
  boxes b(m, &a);
  thermo_sums sums;
  for (auto& d : b.all()) d->sum_thermo(sums);
  return sums.energy.to_double();
}

/// Forces against differences of the energy.
void check_gradient(const problem& p, const way& w, const funcfl* eam) {
  initial_atoms a = shaken(p, 0.2);
  const model m = model_of(p, w, eam, &a);
  const auto forces = boxes(m, &a).forces_by_id();
  constexpr double h = 1e-5;
  for (const std::size_t i : {std::size_t{0}, std::size_t{17}, a.ids.size() - 1}) {
    for (int d = 0; d < 3; ++d) {
      const double there = a.positions[i][d];
      a.positions[i][d] = there + h;
      const double up = potential(p, w, eam, a);
      a.positions[i][d] = there - h;
      const double down = potential(p, w, eam, a);
      a.positions[i][d] = there;
      const vector4& f = forces.at(a.ids[i]);
      const double force = d == 0 ? f.x : d == 1 ? f.y : f.z;
      EXPECT_NEAR(force, (down - up) / (2 * h), 1e-5 * std::max(1.0, std::abs(force))) << "atom " << i;
    }
  }
}

}  // namespace

TEST(md_forces, of_lennard_jones_are_the_slope_of_the_energy) {
  check_gradient(small_problem(3), {}, nullptr);
  check_gradient(small_problem(3), {{2, 1, 1}, {list_style::half, true}}, nullptr);
}

TEST(md_forces, of_embedded_atoms_are_the_slope_of_the_energy) {
  const funcfl metal = made_up_metal();
  check_gradient(metal_problem(3), {}, &metal);
  check_gradient(metal_problem(3), {{2, 1, 2}, {list_style::half, false}}, &metal);
}

TEST(md_forces, agree_for_all_lists_cuts_exchanges_and_instruction_sets) {
  const funcfl metal = made_up_metal();
  for (const bool is_metal : {false, true}) {
    const problem p = is_metal ? metal_problem(3) : small_problem(3);
    const initial_atoms a = shaken(p, 0.3);
    const model base = model_of(p, {}, &metal, &a);
    const auto expected = boxes(base, &a).forces_by_id();
    for (const list_rule rule : {list_rule{}, list_rule{list_style::full, false, true},
                                 list_rule{list_style::half, false}, list_rule{list_style::half, true}}) {
      if (is_metal && rule.ghost_newton) continue;
      for (const box_index cut : {box_index{1, 1, 1}, box_index{2, 3, 1}, box_index{5, 4, 3}})
        for (const exchange_style e : {exchange_style::direct, exchange_style::rounds})
          for (const instruction_set isa : all_sets()) {
            const model m = model_of(p, {cut, rule, e, isa}, &metal, &a);
            const auto found = boxes(m, &a).forces_by_id();
            ASSERT_EQ(found.size(), expected.size());
            for (const auto& [id, f] : expected) {
              EXPECT_NEAR(found.at(id).x, f.x, 1e-9);
              EXPECT_NEAR(found.at(id).y, f.y, 1e-9);
              EXPECT_NEAR(found.at(id).z, f.z, 1e-9);
            }
          }
    }
  }
}

TEST(md_forces, add_up_to_nothing) {
  const problem p = small_problem(4);
  const initial_atoms a = shaken(p, 0.3);
  const model m =
      model_of(p, {{2, 2, 2}, {list_style::half, true}, exchange_style::direct, best_instruction_set()}, nullptr, &a);
  double x = 0, most = 0;
  for (const auto& [id, f] : boxes(m, &a).forces_by_id()) {
    x += f.x;
    most = std::max(most, std::abs(f.x));
  }
  EXPECT_GT(most, 1);
  EXPECT_NEAR(x, 0, 1e-9 * most);
}

TEST(md_forces, two_atoms_attract_as_the_formula_says) {
  problem p;
  initial_atoms a;
  a.box_hi = {9, 9, 9};
  a.ids = {1, 2};
  a.positions = {{4, 4, 4}, {5.5, 4, 4}};
  a.velocities = {{}, {}};
  const double r = 1.5, s6 = std::pow(r, -6);
  for (const instruction_set isa : all_sets()) {
    const model m = model_of(p, {{1, 1, 1}, {}, exchange_style::direct, isa}, nullptr, &a);
    boxes b(m, &a);
    EXPECT_NEAR(b.forces_by_id().at(1).x, -48 * s6 * (s6 - 0.5) / r, 1e-13);
    EXPECT_NEAR(b.state().energy * 2, 4 * s6 * (s6 - 1), 1e-13);
  }
}

TEST(md_spline, goes_through_its_points_and_is_smooth) {
  std::vector<double> values;
  for (int i = 0; i < 50; ++i) values.push_back(std::sin(0.1 * i));
  const spline s(values, 0.1);
  for (int i = 0; i < 49; ++i) EXPECT_NEAR(s.value(s.at(0.1 * i)), std::sin(0.1 * i), 1e-14);
  for (double x = 0.3; x < 4.5; x += 0.0137) {
    EXPECT_NEAR(s.value(s.at(x)), std::sin(x), 1e-5);
    EXPECT_NEAR(s.slope(s.at(x)), std::cos(x), 1e-3);
  }
  EXPECT_EQ(s.value(s.at(100)), s.value(s.at(4.9)));
}

}  // namespace forces_test
