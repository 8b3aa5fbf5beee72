#include "result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tree/named_trees.h"

namespace uts {
namespace result_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

options searching_t1() {
  options o;
  o.tree = find_tree("T1").parameters;
  o.verify = true;
  return o;
}

result found_by_two_pes() {
  result r;
  r.pes = 2;
  r.counts = find_tree("T1").counts;
  r.seconds = {0.3, 0.1, 0.2};
  r.shares = {{0, {3'000'000, 2'000'000, 10}, 20}, {1, {1'130'071, 1'305'118, 9}, 10}};
  r.serial_seconds = {0.3};
  r.serial_counts = r.counts;
  return r;
}

TEST(uts_result, figures_are_medians_and_efficiency_is_for_each_pe) {
  const result r = found_by_two_pes();
  EXPECT_DOUBLE_EQ(r.nodes_per_second(), 4'130'071 / 0.2);
  EXPECT_DOUBLE_EQ(r.speedup(), 1.5);
  EXPECT_DOUBLE_EQ(r.efficiency(), 0.75);
  EXPECT_EQ(r.chares(), 30);
}

TEST(uts_result, counts_are_judged_by_the_published_and_the_serial_ones) {
  result r = found_by_two_pes();
  judge(searching_t1(), r);
  EXPECT_THAT(r.wrong, IsEmpty());
  EXPECT_THAT(figures_text(searching_t1(), r), HasSubstr("verified: the published counts"));
  ++r.counts.leaves;
  judge(searching_t1(), r);
  EXPECT_THAT(r.wrong, ElementsAre(HasSubstr("published: 4130071 nodes"), HasSubstr("by the serial loop")));
  EXPECT_THAT(figures_text(searching_t1(), r), testing::Not(HasSubstr("verified")));
}

TEST(uts_result, a_tree_in_no_list_is_compared_with_the_serial_loop) {
  options o = searching_t1();
  EXPECT_FALSE(needs_serial_counts(o));
  o.tree.seed = 20;
  EXPECT_TRUE(needs_serial_counts(o));
  o.verify = false;
  EXPECT_FALSE(needs_serial_counts(o));
}

TEST(uts_result, the_report_names_tree_shares_and_times) {
  const auto j = nlohmann::json::parse(report_json(searching_t1(), found_by_two_pes()));
  EXPECT_EQ(j["app"], "uts");
  EXPECT_EQ(j["tree"]["name"], "T1");
  EXPECT_EQ(j["tree"]["options"], "-t 1 -a 3 -d 10 -b 4 -r 19");
  EXPECT_EQ(j["nodes"], 4'130'071);
  EXPECT_EQ(j["chares"], 30);
  EXPECT_EQ(j["seconds"]["median"], 0.2);
  EXPECT_EQ(j["nodes_of_pe"]["pes"][1], 1'130'071);
  EXPECT_EQ(j["nodes_of_pe"]["max"], 3'000'000);
  EXPECT_EQ(j["verified"], true);
}

}  // namespace
}  // namespace result_test
}  // namespace uts
