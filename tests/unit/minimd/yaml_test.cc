#include "output/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"
#include "sample_facts.h"

namespace md {
namespace yaml_test {
namespace {

using values = std::map<std::string, std::string>;

/// Reads the part of YAML that is blocks of `key: value` by indentation, and lists of them. The value of a nested key
/// is that of `outer/inner`, that of a list's second entry of `outer/1/inner`. A key that comes twice, a line that is
/// no pair and an indentation that leads nowhere are failures.
class small_yaml {
 public:
  explicit small_yaml(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);)
      if (!line.empty()) take(line);
  }
  const values& all() const { return values_; }
  const std::string& operator[](const std::string& key) const { return values_.at(key); }
  double number(const std::string& key) const { return std::stod(values_.at(key)); }

 private:
  struct level {
    std::size_t indent;
    std::string prefix;
    int entries = 0;
  };

  void take(const std::string& line) {
    std::size_t indent = line.find_first_not_of(' ');
    std::string rest = line.substr(indent);
    if (rest.starts_with("- ")) {
      start_entry(indent);
      indent += 2;
      rest = rest.substr(2);
    }
    const std::size_t colon = rest.find(':');
    ASSERT_NE(colon, std::string::npos) << line;
    enter(indent, line);
    const std::string key = levels_.back().prefix + rest.substr(0, colon);
    if (colon + 1 == rest.size()) {
      open_ = key + "/";
      return;
    }
    EXPECT_EQ(rest[colon + 1], ' ') << line;
    EXPECT_TRUE(values_.emplace(key, rest.substr(colon + 2)).second) << key << " twice";
  }

  void start_entry(std::size_t indent) {
    if (!open_.empty()) list_ = {indent, std::exchange(open_, ""), 0};
    EXPECT_EQ(indent, list_.indent);
    while (levels_.back().indent > indent) levels_.pop_back();
    open_ = list_.prefix + std::to_string(list_.entries++) + "/";
  }

  void enter(std::size_t indent, const std::string& line) {
    if (!open_.empty()) {
      EXPECT_GT(indent, levels_.back().indent) << line;
      levels_.push_back({indent, std::exchange(open_, "")});
    }
    while (levels_.back().indent > indent) levels_.pop_back();
    EXPECT_EQ(levels_.back().indent, indent) << line;
  }

  values values_;
  std::vector<level> levels_{{0, ""}};
  level list_{0, ""};
  std::string open_;
};

small_yaml written(const run_facts& f) {
  std::ostringstream text;
  write_yaml(text, f);
  return small_yaml(text.str());
}

TEST(yaml, has_the_keys_of_minimd) {
  const small_yaml y = written(sample_facts());
  EXPECT_EQ(y["run_configuration/mpi_processes"], "2");
  EXPECT_EQ(y["run_configuration/threads"], "3");
  EXPECT_EQ(y["run_configuration/datafile"], "None");
  EXPECT_EQ(y["run_configuration/units"], "LJ");
  EXPECT_EQ(y["run_configuration/atoms"], "96");
  EXPECT_EQ(y["run_configuration/unit_cells"], "[2, 3, 4]");
  EXPECT_EQ(y["run_configuration/force_type"], "LJ");
  EXPECT_EQ(y["run_configuration/neighbor_type"], "1");
  EXPECT_EQ(y["run_configuration/neighbor_frequency"], "20");
  EXPECT_EQ(y["run_configuration/thermo_frequency"], "100");
  EXPECT_EQ(y["run_configuration/ghost_newton"], "1");
  EXPECT_EQ(y["run_configuration/float_size"], "8");
  EXPECT_EQ(y.number("run_configuration/density"), 0.8442);
  EXPECT_EQ(y.number("run_configuration/neighbor_cutoff"), 2.5 + 0.3);
}

TEST(yaml, numbers_read_back_as_the_same_bits) {
  const run_facts f = sample_facts();
  const small_yaml y = written(f);
  EXPECT_EQ(y.number("run_configuration/timestep_size"), f.what.dt);
  for (std::size_t i = 0; i < f.thermo.size(); ++i) {
    const std::string row = "thermodynamic_output/" + std::to_string(i) + "/";
    EXPECT_EQ(y[row + "timestep"], std::to_string(f.thermo[i].step));
    EXPECT_EQ(y.number(row + "T*"), f.thermo[i].temperature);
    EXPECT_EQ(y.number(row + "U*"), f.thermo[i].energy);
    EXPECT_EQ(y.number(row + "P*"), f.thermo[i].pressure);
  }
  EXPECT_EQ(y.all().count("thermodynamic_output/3/timestep"), 0u);
}

TEST(yaml, real_numbers_have_a_point_so_that_no_reader_takes_them_for_texts) {
  run_facts f = sample_facts();
  f.thermo[0].temperature = 1;
  f.thermo[0].pressure = std::numeric_limits<double>::quiet_NaN();
  f.thermo[1].pressure = -std::numeric_limits<double>::infinity();
  const small_yaml y = written(f);
  EXPECT_EQ(y["thermodynamic_output/0/T*"], "1.0");
  EXPECT_EQ(y["thermodynamic_output/0/P*"], ".nan");
  EXPECT_EQ(y["thermodynamic_output/1/P*"], "-.inf");
  EXPECT_EQ(y["thermodynamic_output/2/P*"], "1.0e+22");
}

TEST(yaml, conservation_is_the_total_energy_over_the_first_one) {
  run_facts f = sample_facts();
  EXPECT_EQ(written(f).number("thermodynamic_output/0/Conservation"), 1);
  EXPECT_DOUBLE_EQ(written(f).number("thermodynamic_output/2/Conservation"),
                   (1.5 * 0.7 - 5.7) / (1.5 * 1.44 - 6.7733681));
  f.what.units = unit_system::metal;
  f.thermo[0] = {0, 300, -3.5, 0, 0};
  f.thermo[1] = {100, 200, -3.4, 0, 0};
  EXPECT_DOUBLE_EQ(written(f).number("thermodynamic_output/1/Conservation"),
                   (1.5 * 8.617343e-5 * 200 - 3.4) / (1.5 * 8.617343e-5 * 300 - 3.5));
}

TEST(yaml, speed_counts_atoms_and_steps) {
  const small_yaml y = written(sample_facts());
  EXPECT_EQ(y.number("time/total/time"), 1.6);
  EXPECT_DOUBLE_EQ(y.number("time/total/performance"), 96 * 200 / 1.6);
  EXPECT_DOUBLE_EQ(y.number("time/total/performance_proc"), 96 * 200 / 1.6 / 6);
  EXPECT_EQ(y.number("time/force"), 0.8);
  EXPECT_EQ(y.number("time/neigh"), 0.4);
  EXPECT_EQ(y.number("time/comm"), 0.3);
  EXPECT_EQ(y.number("time/other"), 0.1);
}

TEST(yaml, a_run_without_time_or_rows_is_written_too) {
  run_facts f = sample_facts();
  f.seconds = {};
  f.thermo.clear();
  const small_yaml y = written(f);
  EXPECT_EQ(y.number("time/total/performance"), 0);
  EXPECT_EQ(y["thermodynamic_output"], "[]");
}

TEST(yaml, texts_are_quoted) {
  run_facts f = sample_facts();
  f.what.data_file = "data: \"x\"\n";
  f.what.force = force_style::eam;
  const small_yaml y = written(f);
  EXPECT_EQ(y["run_configuration/datafile"], R"("data: \"x\"\n")");
  EXPECT_EQ(y["run_configuration/command"], R"("minimd --input \"in.lj\" # 2: C:\\x")");
  EXPECT_EQ(y["run_configuration/force_file"], R"("Cu_u6.eam")");
}

TEST(yaml, the_density_of_a_data_file_is_that_of_its_atoms) {
  run_facts f = sample_facts();
  f.what.data_file = "data.in";
  f.box = {4, 4, 12};
  EXPECT_EQ(written(f).number("run_configuration/density"), 0.5);
  EXPECT_EQ(written(f).all().count("run_configuration/unit_cells"), 0u);
}

TEST(yaml, the_file_is_what_is_written_to_a_stream) {
  const output_folder folder;
  write_yaml_file(folder.file("run.yaml"), sample_facts());
  std::ostringstream text;
  write_yaml(text, sample_facts());
  EXPECT_EQ(folder.text("run.yaml"), text.str());
  EXPECT_THROW(write_yaml_file(folder.file("none/run.yaml"), sample_facts()), imbrex::usage_error);
}

TEST(yaml, the_file_name_is_the_local_time) {
  std::tm local{};
  local.tm_year = 2024 - 1900;
  local.tm_mon = 1;
  local.tm_mday = 3;
  local.tm_hour = 4;
  local.tm_min = 5;
  local.tm_sec = 6;
  local.tm_isdst = -1;
  EXPECT_EQ(yaml_file_name(std::mktime(&local)), "miniMD-2024-02-03-04-05-06.yaml");
}

}  // namespace
}  // namespace yaml_test
}  // namespace md
