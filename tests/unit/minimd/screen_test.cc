#include "output/screen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "sample_facts.h"

namespace md {
namespace screen_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  std::istringstream in(line);
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

TEST(screen, the_header_is_comments) {
  EXPECT_THAT(lines_of(header_text(sample_facts())), testing::Each(StartsWith("# ")));
}

TEST(screen, the_header_names_the_settings) {
  const std::string text = header_text(sample_facts());
  for (const char* setting :
       {"chares", "Ranks: 2", "PEs of a rank: 3", "Chares: 12 (3 x 2 x 2), ODF 2", "Device: host", "Datafile: None",
        "ForceStyle: LJ", "Force Parameters: 1.00 1.00", "Units: LJ", "Atoms: 96", "(unit cells: 2 3 4)",
        "Density: 0.844200", "Neigh cutoff: 2.800000", "Half neighborlists: 1", "Ghost Newton: 1"})
    EXPECT_THAT(text, HasSubstr(setting));
}

TEST(screen, the_header_of_a_data_file_with_eam_has_no_cells_and_no_epsilon) {
  run_facts f = sample_facts();
  f.what.data_file = "data.in";
  f.what.force = force_style::eam;
  f.what.units = unit_system::metal;
  f.lists = list_style::full;
  const std::string text = header_text(f);
  for (const char* setting :
       {"Datafile: data.in", "ForceStyle: EAM", "Force file: Cu_u6.eam", "Units: METAL", "Half neighborlists: 0"})
    EXPECT_THAT(text, HasSubstr(setting));
  EXPECT_THAT(text, Not(HasSubstr("unit cells")));
  EXPECT_THAT(text, Not(HasSubstr("Parameters")));
}

TEST(screen, a_row_reads_back_as_the_same_bits) {
  EXPECT_EQ(columns_text(), "# Timestep T U P Time\n");
  const thermo_row row{1000, 2.0 / 3, -6.1, 1e-300 / 7, 12.34567};
  const std::vector<std::string> words = words_of(row_text(row));
  ASSERT_EQ(words.size(), 5u);
  EXPECT_EQ(words[0], "1000");
  EXPECT_EQ(std::stod(words[1]), row.temperature);
  EXPECT_EQ(std::stod(words[2]), row.energy);
  EXPECT_EQ(std::stod(words[3]), row.pressure);
  EXPECT_EQ(words[4], "12.346");
}

TEST(screen, the_summary_has_a_number_for_each_column) {
  const std::vector<std::string> lines = lines_of(summary_text(sample_facts()));
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], "# Performance Summary:");
  EXPECT_EQ(lines[1],
            "# ranks PEs nsteps natoms t_total t_force t_neigh t_comm t_other performance perf/thread grep_string "
            "t_extra");
  EXPECT_EQ(lines[2],
            "2 3 200 96 1.600000 0.800000 0.400000 0.300000 0.100000 12000.000000 2000.000000 PERF_SUMMARY 0.000000");
  EXPECT_EQ(words_of(lines[2]).size() + 1, words_of(lines[1]).size());
}

TEST(screen, a_run_without_time_has_speed_0) {
  run_facts f = sample_facts();
  f.seconds = {};
  EXPECT_THAT(summary_text(f), HasSubstr("0.000000 0.000000 PERF_SUMMARY"));
}

}  // namespace
}  // namespace screen_test
}  // namespace md
