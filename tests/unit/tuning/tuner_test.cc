#include "imbrex/tuning/tuner.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "imbrex/base/error.h"

namespace imbrex {
namespace tuner_test {
namespace {

class tuning : public testing::Test {
 protected:
  tuning() : folder_(std::filesystem::temp_directory_path() / ("imbrex_tuner_" + std::to_string(getpid()))) {}
  ~tuning() override { std::filesystem::remove_all(folder_); }

  tuner of(const std::string& problem, const std::string& machine = "this") {
    return {machine, path(), "test", problem, {{"odf", {1, 2, 4, 8}}, {"steps", {1, 4}}}};
  }
  std::string path() const { return folder_ / "deep" / "tuning.json"; }

  /// The best is odf 4, steps 1.
  static void search(tuner& t) {
    while (const auto p = t.next()) t.tell(std::abs((*p)["odf"] - 4) + (*p)["steps"]);
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(tuning, finds_and_remembers) {
  tuner first = of("100^3");
  EXPECT_FALSE(first.was_remembered());
  search(first);
  EXPECT_EQ(first.best()["odf"], 4);
  EXPECT_EQ(first.best()["steps"], 1);
  EXPECT_EQ(first.best().text(), "odf 4, steps 1");

  tuner again = of("100^3");
  EXPECT_TRUE(again.was_remembered());
  EXPECT_FALSE(again.next());
  EXPECT_EQ(again.best()["odf"], 4);
  EXPECT_EQ(again.num_trials(), 0);
}

TEST_F(tuning, remembers_for_this_problem_machine_and_parameters_only) {
  tuner first = of("100^3");
  search(first);
  EXPECT_FALSE(of("200^3").was_remembered());
  EXPECT_FALSE(of("100^3", "another").was_remembered());
  EXPECT_FALSE(tuner("this", path(), "test", "100^3", {{"odf", {1, 2, 4, 8}}}).was_remembered());
  tuner other = of("200^3");
  while (const auto p = other.next()) other.tell((*p)["odf"]);
  EXPECT_EQ(of("100^3").best()["odf"], 4) << "both are kept";
  EXPECT_EQ(of("200^3").best()["odf"], 1);
}

TEST_F(tuning, a_file_of_another_kind_is_refused_and_left_as_it_is) {
  std::filesystem::create_directories(std::filesystem::path(path()).parent_path());
  for (const std::string text : {"my notes\n", "{ \"found\": [", "[1, 2]", "{\"found\": 3}"}) {
    std::ofstream(path()) << text;
    try {
      of("100^3");
      FAIL() << text;
    } catch (const config_error& e) {
      EXPECT_NE(std::string(e.what()).find(path()), std::string::npos) << e.what();
    }
    std::string now;
    std::getline(std::ifstream(path()), now, '\0');
    EXPECT_EQ(now, text);
  }
  std::ofstream(path(), std::ios::trunc).close();
  tuner t = of("100^3");
  search(t);
  EXPECT_TRUE(of("100^3").was_remembered()) << "an empty file is as good as none";
}

TEST_F(tuning, a_broken_file_in_the_usual_place_is_replaced) {
  const char* const given = std::getenv("XDG_CACHE_HOME");
  const std::string before = given != nullptr ? given : "";
  setenv("XDG_CACHE_HOME", std::filesystem::path(path()).parent_path().c_str(), 1);
  const std::string usual = tuning_memory::path_of("auto");
  std::filesystem::create_directories(std::filesystem::path(usual).parent_path());
  std::ofstream(usual) << "{ \"found\": [";
  const auto make = [&] { return tuner("this", usual, "test", "p", {{"a", {1, 2}}}); };
  tuner t = make();
  EXPECT_FALSE(t.was_remembered());
  while (const auto p = t.next()) t.tell((*p)["a"]);
  EXPECT_TRUE(make().was_remembered());
  if (given != nullptr)
    setenv("XDG_CACHE_HOME", before.c_str(), 1);
  else
    unsetenv("XDG_CACHE_HOME");
}

TEST_F(tuning, entries_that_do_not_fit_are_passed_over) {
  tuner t = of("100^3");
  search(t);
  std::string text;
  std::getline(std::ifstream(path()), text, '\0');
  const std::size_t at = text.find("4,", text.find("\"values\""));
  ASSERT_NE(at, std::string::npos);
  std::ofstream(path()) << text.replace(at, 1, "3");
  EXPECT_FALSE(of("100^3").was_remembered()) << "odf 3 is not offered";
  std::ofstream(path()) << R"({"found": [7, {"program": 3}, {"program": "test", "values": "x"}]})";
  EXPECT_FALSE(of("100^3").was_remembered());
}

TEST_F(tuning, nothing_is_remembered_without_a_path) {
  tuner t("this", "", "test", "p", {{"a", {1, 2}}});
  while (const auto p = t.next()) t.tell((*p)["a"]);
  EXPECT_EQ(t.best()["a"], 1);
}

TEST_F(tuning, stopped_early_the_best_so_far_counts) {
  tuner t = of("100^3");
  EXPECT_TRUE(t.next());
  t.tell(5);
  EXPECT_TRUE(t.next());
  t.tell(3);
  t.stop();
  EXPECT_FALSE(t.next());
  EXPECT_EQ(t.best()["odf"], 2);
  EXPECT_TRUE(of("100^3").was_remembered());
}

TEST_F(tuning, says_what_is_wrong) {
  EXPECT_THROW(tuner("m", "", "t", "p", {}), usage_error);
  EXPECT_THROW(tuner("m", "", "t", "p", {{"a", {}}}), usage_error);
  EXPECT_THROW(tuner("m", "", "t", "p", {{"", {1}}}), usage_error);
  EXPECT_THROW(tuner("m", "", "t", "p", {{"a", {1}}, {"a", {2}}}), usage_error);
  tuner t("m", "", "t", "p", {{"a", {1, 2}}});
  EXPECT_THROW(t.best(), usage_error) << "nothing has been tried";
  EXPECT_THROW(t.tell(3), usage_error) << "nothing has been given out";
  EXPECT_TRUE(t.next());
  EXPECT_TRUE(t.next());
  EXPECT_THROW(t.tell(-1), usage_error);
  EXPECT_THROW(t.tell(std::nan("")), usage_error);
  EXPECT_THROW((void)(*t.next())["b"], usage_error);
  t.tell(std::numeric_limits<double>::infinity());
  EXPECT_THROW(t.tell(1), usage_error) << "of the same again";
  EXPECT_TRUE(t.next());
  t.tell(std::numeric_limits<double>::infinity());
  EXPECT_FALSE(t.next());
  EXPECT_THROW(t.best(), usage_error);
  EXPECT_THROW(t.tell(1), usage_error);
}

}  // namespace
}  // namespace tuner_test
}  // namespace imbrex
