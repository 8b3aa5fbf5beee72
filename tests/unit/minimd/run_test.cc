// Whole runs: against the reference's values, and however the system is cut.
#include <gmock/gmock.h>

#include <cmath>

#include "boxes.h"
#include "imbrex/base/error.h"
#include "model_of.h"

namespace run_test {

using namespace md;
using namespace md_test;

namespace {

constexpr double close = 1e-9;
void expect_close(double found, double expected) { EXPECT_NEAR(found, expected, close * std::abs(expected)); }

std::vector<thermo_row> rows_of(const model& m, std::int64_t steps) {
  std::vector<thermo_row> rows;
  serial_run run(m, nullptr);
  run.run(steps, [&rows](const thermo_row& r) { rows.push_back(r); });
  return rows;
}

}  // namespace

// Mantevo miniMD 2.0, `-s 10`.
TEST(md_run, gives_the_values_of_the_reference) {
  const model m = model_of(small_problem(10),
                           {{1, 1, 1}, {list_style::half, true}, exchange_style::direct, best_instruction_set()});
  const auto rows = rows_of(m, 100);
  ASSERT_EQ(rows.size(), 2u);
  expect_close(rows[0].temperature, 1.44);
  expect_close(rows[0].energy, -6.773368053257);
  expect_close(rows[0].pressure, -5.019973182084);
  expect_close(rows[1].temperature, 0.7208598686408525);
  expect_close(rows[1].energy, -5.701261482532777);
  expect_close(rows[1].pressure, 0.5236926109997563);
}

TEST(md_run, is_the_same_however_it_is_cut) {
  const problem p = small_problem(5);
  const model base = model_of(p, {});
  boxes alone(base);
  for (int i = 0; i < 50; ++i) alone.step(i == 49);
  const thermo_row expected = alone.state();
  for (const way& w : {way{{2, 2, 2}, {list_style::half, true}, exchange_style::direct, best_instruction_set()},
                       way{{3, 1, 4}, {list_style::half, false}, exchange_style::rounds, best_instruction_set()},
                       way{{7, 5, 3}, {}, exchange_style::direct, best_instruction_set()},
                       way{{7, 5, 3}, {list_style::half, true}, exchange_style::rounds}}) {
    const model m = model_of(p, w);
    boxes cut(m);
    for (int i = 0; i < 50; ++i) cut.step(i == 49);
    const thermo_row found = cut.state();
    EXPECT_NEAR(found.temperature, expected.temperature, 1e-12);
    EXPECT_NEAR(found.energy, expected.energy, 1e-12 * 7);
    EXPECT_NEAR(found.pressure, expected.pressure, 1e-12 * 7);
  }
}

TEST(md_run, has_the_same_bits_however_it_is_cut_where_lists_are_in_order) {
  const problem p = small_problem(5);
  const list_rule in_order{list_style::full, false, true};
  const model base = model_of(p, {{1, 1, 1}, in_order});
  boxes alone(base);
  for (int i = 0; i < 60; ++i) alone.step();
  for (const box_index cut : {box_index{2, 1, 3}, box_index{4, 4, 4}, box_index{1, 9, 1}}) {
    for (const exchange_style e : {exchange_style::direct, exchange_style::rounds}) {
      const model m = model_of(p, {cut, in_order, e, best_instruction_set()});
      boxes several(m);
      for (int i = 0; i < 60; ++i) several.step();
      EXPECT_EQ(several.state().temperature, alone.state().temperature);
      EXPECT_EQ(several.state().energy, alone.state().energy);
      EXPECT_EQ(several.state().pressure, alone.state().pressure);
    }
  }
}

TEST(md_run, conserves_energy_and_momentum) {
  problem p = small_problem(5);
  p.reneighbour_every = 10;
  const model m = model_of(p, {{2, 2, 1}, {list_style::half, true}, exchange_style::direct, best_instruction_set()});
  boxes b(m);
  const auto total = [&] {
    const thermo_row r = b.state();
    return 1.5 * r.temperature + r.energy;
  };
  const double before = total();
  for (int i = 0; i < 400; ++i) b.step();
  EXPECT_NEAR(total(), before, 0.01 * std::abs(before));
  double momentum = 0;
  for (const auto& [id, v] : b.velocities_by_id()) momentum += v.x;
  EXPECT_NEAR(momentum, 0, 1e-9);
}

// As fast as that it crosses several of the thin boxes between two reneighbourings.
TEST(md_run, an_atom_that_crosses_several_boxes_arrives) {
  problem p;
  p.reneighbour_every = 5;
  initial_atoms a;
  a.box_hi = {12, 12, 12};
  a.ids = {7};
  a.positions = {{0.1, 6, 6}};
  a.velocities = {{100, 0, 0}};  // 2.5 in 5 steps; boxes are 1 wide
  const model m = model_of(p, {{12, 1, 1}, {}}, nullptr, &a);
  boxes b(m, &a);
  for (int i = 0; i < 5; ++i) b.step();
  EXPECT_EQ(b.all()[2]->num_atoms(), 1);
  for (int i = 0; i < 20; ++i) b.step();
  EXPECT_EQ(b.all()[0]->num_atoms(), 1);  // 12.6, and so around
}

TEST(md_run, an_atom_that_is_too_fast_is_named) {
  problem p;
  p.reneighbour_every = 5;
  initial_atoms a;
  a.box_hi = {24, 24, 24};
  a.ids = {7};
  a.positions = {{0.1, 6, 6}};
  a.velocities = {{300, 0, 0}};
  const model m = model_of(p, {{12, 1, 1}, {}}, nullptr, &a);
  boxes b(m, &a);
  EXPECT_THAT(
      [&] {
        for (int i = 0; i < 5; ++i) b.step();
      },
      testing::ThrowsMessage<imbrex::error>(
          testing::AllOf(testing::HasSubstr("atom 7 is lost"), testing::HasSubstr("reneighbour more often"))));
}

TEST(md_run, an_atom_that_is_nowhere_is_named) {
  problem p;
  p.reneighbour_every = 1;
  initial_atoms a;
  a.box_hi = {9, 9, 9};
  a.ids = {7, 8};
  a.positions = {{4, 4, 4}, {4, 4, 4 + 1e-4}};  // no lattice: their forces are beyond all bounds
  a.velocities = {{}, {}};
  const model m = model_of(p, {}, nullptr, &a);
  boxes b(m, &a);
  EXPECT_THAT([&] { b.step(); }, testing::ThrowsMessage<imbrex::error>(testing::HasSubstr("is lost")));
}

}  // namespace run_test
