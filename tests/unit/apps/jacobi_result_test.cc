#include "result.h"
#include "support/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "field/block_field.h"
#include "field/change_sum.h"
#include "field/field_hash.h"
#include "field/initial_state.h"
#include "field/serial_reference.h"
#include "imbrex/base/error.h"
#include "memory_check.h"
#include "stopping_rule.h"

namespace jacobi {
namespace jacobi_result_test {
namespace {

/// splitmix64 as published (Steele, Lea, Flood; Vigna's splitmix64.c), written once more.
std::uint64_t splitmix64(std::uint64_t state) {
  std::uint64_t z = state + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

TEST(field_hash, is_what_its_definition_says) {
  EXPECT_EQ(splitmix64(0), 0xe220a8397b1dcdafu);  // the first output of the published generator with seed 0
  const double values[] = {1.0, -0.0};
  const std::uint64_t expected =
      splitmix64(0x3ff0000000000000u ^ splitmix64(0)) + splitmix64(0x8000000000000000u ^ splitmix64(1));
  EXPECT_EQ(hash_share({2, 1, 1}, {0, 0, 0, {2, 1, 1}}, values, 2), expected);
  const double swapped[] = {-0.0, 1.0};
  EXPECT_NE(hash_share({2, 1, 1}, {0, 0, 0, {2, 1, 1}}, swapped, 2), expected);
}

TEST(field_hash, shares_of_any_blocks_add_up) {
  const extents grid{9, 7, 5};
  std::uint64_t whole = 0;
  for (auto [cx, cy, cz] : {std::tuple{1, 1, 1}, {2, 3, 1}, {4, 1, 5}}) {
    const decomposition blocks(grid, cx, cy, cz);
    std::uint64_t sum = 0;
    for (std::int64_t n = 0; n < blocks.num_blocks(); ++n) {
      const box cells = blocks.cells(blocks.position(n));
      block_field field(cells.size, 0);
      set_initial_state(field, grid, cells, {initial_kind::random, 1, ""}, {});
      sum += hash_share(grid, cells, field.current(), field.pitch());
    }
    if (whole == 0) whole = sum;
    EXPECT_EQ(sum, whole);
  }
}

TEST(initial_state, random_is_what_its_definition_says) {
  const extents grid{3, 2, 2};
  double got[12];
  write_initial_state(got, 3, grid, {0, 0, 0, grid}, {initial_kind::random, 99, ""}, {});
  for (std::uint64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(got[i], std::ldexp(static_cast<double>(splitmix64(99 ^ splitmix64(i)) >> 11), -53));
    EXPECT_GE(got[i], 0.0);
    EXPECT_LT(got[i], 1.0);
  }
}

TEST(initial_state, hot_face_is_the_plane_z_0) {
  double got[8];
  write_initial_state(got, 2, {2, 2, 2}, {0, 0, 0, {2, 2, 2}}, {}, {});
  EXPECT_THAT(got, testing::ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
}

TEST(stopping_rule, is_consumed_one_interval_later) {
  const stopping_rule rule(0.5, 10, 45);
  EXPECT_FALSE(rule.is_check(9));
  EXPECT_TRUE(rule.is_check(10));
  EXPECT_TRUE(rule.is_check(30));
  EXPECT_FALSE(rule.is_check(40)) << "nobody would consume it";
  EXPECT_EQ(rule.consumed_before(10), std::nullopt);
  EXPECT_EQ(rule.consumed_before(20), 10);
  EXPECT_EQ(rule.consumed_before(40), 30);
  EXPECT_EQ(rule.consumed_before(41), std::nullopt);
  EXPECT_TRUE(rule.met(0.4));
  EXPECT_FALSE(rule.met(0.5));
  EXPECT_FALSE(rule.met(std::nan("")));
  EXPECT_FALSE(stopping_rule(std::nullopt, 10, 45).is_check(10));
  for (std::int64_t k = 1; k <= 45; ++k) EXPECT_EQ(rule.is_check(k), rule.consumed_before(k + 10).has_value());
}

options convergence_problem() {
  options o;
  o.grid = {6, 6, 6};
  o.warm_up = 2;
  o.iterations = 1000;
  o.initial = {initial_kind::sine, 0, ""};
  o.check_every = 10;
  return o;
}

TEST(serial_reference, stops_one_interval_after_the_check_that_converged) {
  options o = convergence_problem();
  // The sine shrinks by one factor f in each iteration, so the change of iteration k is |f - 1| f^(k-1+warm_up) |sine|.
  const double f = (1 + 6 * std::cos(std::acos(-1.0) / 7)) / 7;
  const double norm_of_sine = std::pow(3.5, 1.5);
  auto norm_at = [&](double k) { return (1 - f) * std::pow(f, k - 1 + 2) * norm_of_sine; };
  o.tolerance = std::sqrt(norm_at(40) * norm_at(30));  // between check 30 and check 40
  serial_reference reference(o);
  EXPECT_EQ(reference.run(), 50);
  EXPECT_NEAR(reference.change_norm().value(), norm_at(40), 1e-12);
}

TEST(serial_reference, conserves_the_sum_in_a_periodic_domain) {
  options o;
  o.grid = {5, 6, 7};
  o.initial = {initial_kind::random, 5, ""};
  o.boundary = {true, 0};
  serial_reference before(o), after(o);
  after.run();
  double sum_before = 0, sum_after = 0;
  for (double v : before.copy_box({0, 0, 0, o.grid})) sum_before += v;
  for (double v : after.copy_box({0, 0, 0, o.grid})) sum_after += v;
  EXPECT_NEAR(sum_before, sum_after, 1e-10);
}

TEST(serial_reference, one_step_by_hand) {
  options o;
  o.grid = {2, 1, 1};
  o.warm_up = 0;
  o.iterations = 1;
  o.initial = {initial_kind::hot_face, 0, ""};  // both cells 1
  o.boundary = {false, 3};
  serial_reference reference(o);
  reference.run();
  EXPECT_EQ(reference.at(0, 0, 0), (1.0 + 3 + 1 + 3 + 3 + 3 + 3) * (1.0 / 7));
  o.formula = {true, 2, 0.5};
  serial_reference weighted(o);
  weighted.run();
  EXPECT_EQ(weighted.at(1, 0, 0), 2 * 1.0 + 0.5 * (1.0 + 3 + 3 + 3 + 3 + 3));
}

TEST(verification, sees_one_wrong_bit) {
  const double expected[] = {1, 2, 3, 4};
  double rows[] = {1, 2, 0, 3, 4, 0};  // rows of 2, pitch 3
  EXPECT_TRUE(compare_block({2, 2, 1}, rows, 3, expected).same_bits);
  rows[4] = std::nextafter(4.0, 5.0);
  const verification v = compare_block({2, 2, 1}, rows, 3, expected);
  EXPECT_FALSE(v.same_bits);
  EXPECT_EQ(v.max_abs_error, std::nextafter(4.0, 5.0) - 4.0);
  rows[4] = std::nan("");
  EXPECT_EQ(compare_block({2, 2, 1}, rows, 3, expected).max_abs_error, std::numeric_limits<double>::infinity());
  const double zeros[] = {0.0, 0.0}, signs[] = {0.0, -0.0};
  EXPECT_FALSE(compare_block({2, 1, 1}, zeros, 2, signs).same_bits);
}

TEST(result, statistics) {
  const apps::statistics even = apps::statistics_of({4, 1, 3, 2});
  EXPECT_EQ(even.min, 1);
  EXPECT_EQ(even.median, 2.5);
  EXPECT_EQ(even.max, 4);
  EXPECT_EQ(even.mean, 2.5);
  EXPECT_EQ(apps::statistics_of({5, 1, 9}).median, 5);
}

result sample() {
  result r;
  r.grid = {100, 100, 100};
  r.cx = 2;
  r.cy = 2;
  r.cz = 4;
  r.pes = 2;
  r.ranks = 2;
  r.iterations = 100;
  r.iteration_us = {1000, 2000, 500};
  r.field_hash = 0xabc;
  return r;
}

TEST(result, report_has_the_promised_fields) {
  options o;
  const auto j = nlohmann::json::parse(report_json(o, sample()));
  EXPECT_EQ(j["app"], "jacobi3d");
  EXPECT_EQ(j["grid"], nlohmann::json({100, 100, 100}));
  EXPECT_EQ(j["chares"], nlohmann::json({2, 2, 4}));
  EXPECT_EQ(j["odf"], 4.0);
  EXPECT_EQ(j["pes"], 2);
  EXPECT_EQ(j["ranks"], 2);
  EXPECT_EQ(j["device"], "host");
  EXPECT_TRUE(j.contains("transport"));
  EXPECT_EQ(j["impl"], "chare");
  EXPECT_EQ(j["iterations"], 100);
  EXPECT_EQ(j["time_per_iteration_us"]["min"], 500.0);
  EXPECT_EQ(j["time_per_iteration_us"]["median"], 1000.0);
  EXPECT_EQ(j["cells_per_second"], 1e9);
  EXPECT_EQ(j["field_hash"], "0000000000000abc");
  EXPECT_TRUE(j["verified"].is_null());
  EXPECT_TRUE(j["max_abs_error"].is_null());
  result checked = sample();
  checked.verified = verification{false, 0.5};
  const auto k = nlohmann::json::parse(report_json(o, checked));
  EXPECT_EQ(k["verified"], false);
  EXPECT_EQ(k["max_abs_error"], 0.5);
  EXPECT_EQ(exit_code(checked), 1);
  EXPECT_EQ(exit_code(sample()), 0);
}

TEST(result, report_that_cannot_be_written_is_refused_early) {
  options o;
  o.report = "/absent/folder/report.json";
  EXPECT_THROW(check_report_writable(o), imbrex::usage_error);
  const auto path = std::filesystem::temp_directory_path() / ("jacobi_report_" + std::to_string(getpid()) + ".json");
  o.report = path.string();
  check_report_writable(o);
  EXPECT_FALSE(std::filesystem::exists(path));
  write_report(o, sample());
  std::ifstream written(path);
  EXPECT_EQ(nlohmann::json::parse(written)["app"], "jacobi3d");
  std::filesystem::remove(path);
}

TEST(memory_check, refuses_more_than_there_is) {
  EXPECT_NO_THROW(check_memory(100, 100));
  try {
    check_memory(std::uint64_t{3} << 30, std::uint64_t{1} << 30);
    FAIL();
  } catch (const imbrex::out_of_memory& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("3072 MiB"), testing::HasSubstr("1024 MiB")));
  }
  EXPECT_THROW(check_memory(~std::uint64_t{0} - 1), imbrex::out_of_memory);
  EXPECT_EQ(bytes_of_all_blocks(decomposition({8, 8, 8}, 1, 2, 2)), 4 * block_field::bytes_needed({8, 4, 4}));
}

}  // namespace
}  // namespace jacobi_result_test
}  // namespace jacobi
