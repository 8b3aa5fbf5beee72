#include "result.h"
#include "support/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "imbrex/base/error.h"

namespace pingpong {
namespace result_test {
namespace {

using testing::HasSubstr;

options small_options() {
  options o;
  o.sizes = {8, 98'304};
  o.repeats = 3;
  o.window = 4;
  o.command = "pingpong --window 4";
  return o;
}

result small_result() {
  result r;
  r.run = {mode::entry};
  r.not_run = {{mode::ucx_host, "there is one process only"}};
  r.points = {{mode::entry, 8, 100, {2.0, 1.0, 4.0}, 10, {0.5, 0.5, 0.5}},
              {mode::entry, 98'304, 10, {98.304, 98.304, 98.304}, 10, {49.152, 49.152, 49.152}}};
  return r;
}

TEST(pingpong_result, statistics) {
  const apps::statistics odd = apps::statistics_of({3, 1, 2});
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.median, 2);
  EXPECT_EQ(odd.max, 3);
  EXPECT_EQ(apps::statistics_of({1, 2, 4, 8}).median, 3);
}

TEST(pingpong_result, tables_have_a_row_for_each_size) {
  const std::string text = tables_text(small_options(), small_result());
  EXPECT_THAT(text, HasSubstr("       8       2.000\n     96K      98.304\n"));
  EXPECT_THAT(text, HasSubstr("       8       0.004\n     96K       1.000\n"));
  EXPECT_THAT(text, HasSubstr("4 messages outstanding"));
}

TEST(pingpong_result, header_names_what_is_not_measured) {
  EXPECT_THAT(header_text(small_options(), small_result()),
              HasSubstr("not measured: ucx-host: there is one process only"));
}

TEST(pingpong_result, report_has_every_repeat) {
  const auto j = nlohmann::json::parse(report_json(small_options(), small_result()));
  EXPECT_EQ(j["app"], "pingpong");
  EXPECT_EQ(j["command"], "pingpong --window 4");
  EXPECT_EQ(j["points"][0]["mode"], "entry");
  EXPECT_EQ(j["points"][0]["one_way_us"]["median"], 2.0);
  EXPECT_EQ(j["points"][0]["one_way_us"]["repeats"].size(), 3);
  EXPECT_DOUBLE_EQ(j["points"][1]["window_gb_per_second"].get<double>(), 2.0);
  EXPECT_EQ(j["not_measured"]["ucx-host"], "there is one process only");
  EXPECT_EQ(j["verified"], true);
}

TEST(pingpong_result, a_report_that_cannot_be_written_is_refused_before_the_run) {
  options o = small_options();
  o.report = "/nowhere/at/all.json";
  EXPECT_THROW(check_report_writable(o), imbrex::usage_error);
}

}  // namespace
}  // namespace result_test
}  // namespace pingpong
