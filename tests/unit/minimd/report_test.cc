#include "output/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "imbrex/base/error.h"
#include "sample_facts.h"

namespace md {
namespace report_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

class report : public testing::Test {
 protected:
  json written(const run_facts& f) const {
    write_report(folder_.file("run.json"), f);
    return json::parse(folder_.text("run.json"));
  }
  output_folder folder_;
};

TEST_F(report, says_what_was_simulated) {
  run_facts f = sample_facts();
  f.what = {
      unit_system::metal, force_style::eam, 1.1, 1.2, {5, 6, 7}, 0.3, 16, 3.61, 0.4, 63.5, 8, 1e-3, 4.95, 0.6, 9, 10,
      "data.in",          "Cu.eam",         true};
  EXPECT_EQ(written(f)["problem"], json::parse(R"({
    "units": "metal", "force": "eam", "epsilon": 1.1, "sigma": 1.2, "cells": [5, 6, 7], "density": 0.3, "imbalance": 16.0,
    "lattice_constant": 3.61, "temperature": 0.4, "mass": 63.5, "steps": 8, "dt": 1e-3, "cutoff": 4.95, "skin": 0.6,
    "reneighbour_every": 9, "thermo_every": 10, "data_file": "data.in", "eam_file": "Cu.eam",
    "precision": "single"})"));
}

TEST_F(report, says_how_it_was_done) {
  const json j = written(sample_facts());
  EXPECT_EQ(j["app"], "minimd");
  EXPECT_EQ(j["version"], 1);
  EXPECT_EQ(j["implementation"], "chares");
  EXPECT_EQ(j["atoms"], 96);
  EXPECT_EQ(j["box"], json({3.3592, 1.0 / 3, 1e-7}));
  EXPECT_EQ(j["decomposition"], json({3, 2, 2}));
  EXPECT_EQ(j["chares"], 12);
  EXPECT_EQ(j["ranks"], 2);
  EXPECT_EQ(j["pes_per_rank"], 3);
  EXPECT_EQ(j["odf"], 2.0);
  EXPECT_EQ(j["lists"], "half");
  EXPECT_EQ(j["ghost_newton"], true);
  EXPECT_EQ(j["deterministic"], false);
  EXPECT_EQ(j["device"], "host");
  EXPECT_EQ(j["exchange"], "entry methods");
  EXPECT_EQ(j["instruction_set"], "avx2");
  EXPECT_EQ(j["command"], sample_facts().command);
}

TEST_F(report, rows_read_back_as_the_same_bits) {
  const run_facts f = sample_facts();
  const json rows = written(f)["thermo"];
  ASSERT_EQ(rows.size(), 3u);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["step"], f.thermo[i].step);
    EXPECT_EQ(rows[i]["temperature"], f.thermo[i].temperature);
    EXPECT_EQ(rows[i]["energy"], f.thermo[i].energy);
    EXPECT_EQ(rows[i]["pressure"], f.thermo[i].pressure);
    EXPECT_EQ(rows[i]["seconds"], f.thermo[i].seconds);
  }
}

TEST_F(report, the_total_energy_has_the_kinetic_energy_of_all_atoms_but_one) {
  run_facts f = sample_facts();
  EXPECT_DOUBLE_EQ(written(f)["thermo"][0]["total_energy"].get<double>(), -6.7733681 + 1.5 * 1.44 * 95 / 96);
  f.what.units = unit_system::metal;
  EXPECT_DOUBLE_EQ(written(f)["thermo"][0]["total_energy"].get<double>(),
                   -6.7733681 + 1.5 * 8.617343e-5 * 1.44 * 95 / 96);
}

TEST_F(report, has_times_and_speed) {
  const json j = written(sample_facts());
  EXPECT_EQ(j["seconds"],
            json::parse(R"({"total": 1.6, "force": 0.8, "neighbour": 0.4, "communication": 0.3, "other": 0.1})"));
  EXPECT_DOUBLE_EQ(j["atom_steps_per_second"].get<double>(), 96 * 200 / 1.6);
}

TEST_F(report, a_run_that_went_wrong_is_reported_too) {
  run_facts f = sample_facts();
  f.seconds = {};
  f.thermo = {{1, std::numeric_limits<double>::quiet_NaN(), 0, 0, 0}};
  f.command = "minimd \xff";
  const json j = written(f);
  EXPECT_EQ(j["atom_steps_per_second"], 0.0);
  EXPECT_TRUE(j["thermo"][0]["temperature"].is_null());
}

TEST_F(report, replaces_an_older_one_and_leaves_nothing_else) {
  written(sample_facts());
  run_facts f = sample_facts();
  f.num_atoms = 1;
  EXPECT_EQ(written(f)["atoms"], 1);
  EXPECT_EQ(folder_.num_files(), 1);
}

TEST_F(report, a_full_disk_is_an_error_and_leaves_an_older_report_as_it_was) {
  written(sample_facts());
  const std::string older = folder_.text("run.json");
  const file_size_limit limit(8);
  try {
    write_report(folder_.file("run.json"), sample_facts());
    FAIL() << "no error";
  } catch (const imbrex::error& e) {
    EXPECT_THAT(e.what(), AllOf(HasSubstr("run.json: "), HasSubstr("File too large")));
  }
  EXPECT_EQ(folder_.text("run.json"), older);
  EXPECT_EQ(folder_.num_files(), 1);
}

TEST_F(report, an_unwritable_path_is_refused_before_the_run) {
  EXPECT_NO_THROW(check_report_writable(folder_.file("run.json")));
  EXPECT_EQ(folder_.num_files(), 0);
  EXPECT_THROW(check_report_writable(folder_.file("none/run.json")), imbrex::usage_error);
  EXPECT_THROW(check_report_writable(folder_.file("")), imbrex::usage_error) << "a folder";
  EXPECT_THROW(write_report(folder_.file("none/run.json"), sample_facts()), imbrex::usage_error);
}

}  // namespace
}  // namespace report_test
}  // namespace md
