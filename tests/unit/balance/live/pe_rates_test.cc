#include "imbrex/balance/live/pe_rates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "imbrex/balance/live/element_loads.h"
#include "imbrex/balance/live/live_plan.h"
#include "imbrex/base/error.h"

namespace imbrex {
namespace pe_rates_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(pe_rates, are_given_measured_or_equal) {
  EXPECT_TRUE(pe_rates("measured", 7).are_measured());
  EXPECT_FALSE(pe_rates("equal", 7).are_measured());
  EXPECT_EQ(pe_rates("equal", 7).of(6), 1);
  const pe_rates given("1,0.25,3", 3);
  EXPECT_FALSE(given.are_measured());
  EXPECT_EQ(given.of(1), 0.25);
  EXPECT_EQ(given.of(2), 3);
}

TEST(pe_rates, that_say_nothing_are_refused) {
  for (const char* wrong : {"", "fast", "1,", "1,,2", "1,0", "1,-2", "1,x", "1 2", "1,inf", "nan"}) {
    try {
      pe_rates rates(wrong);
      ADD_FAILURE() << "'" << wrong << "' was taken";
    } catch (const config_error& e) {
      EXPECT_THAT(e.what(), HasSubstr(std::string("--imbrex-balance-rates=") + wrong + ": give 'measured'"));
    }
  }
  try {
    pe_rates rates("1,2", 3);
    ADD_FAILURE();
  } catch (const config_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("has 2 numbers, and the job 3 PEs"));
  }
}

TEST(pe_rates, of_speeds_leave_chance_out_where_these_are_measured) {
  EXPECT_THAT(rates_of({10, 5, 9.3, 0}, true), ElementsAre(1, 0.5, 1, 1));
  EXPECT_THAT(rates_of({10, 4.9, 8.7}, true), ElementsAre(1, 0.5, 0.85));
  EXPECT_THAT(rates_of({4, 1, 3.9}, false), ElementsAre(1, 0.25, 0.975));
  EXPECT_THAT(rates_of({0, 0}, true), ElementsAre(1, 1));
  EXPECT_TRUE(rates_of({}, true).empty());
}

TEST(pe_rates, the_speed_of_a_core_is_about_the_same_twice) {
  double least = 1e300, most = 0;
  for (int i = 0; i < 5; ++i) {
    const double s = measured_speed();
    least = std::min(least, s);
    most = std::max(most, s);
  }
  EXPECT_GT(least, 0);
  EXPECT_LT(most, 4 * least);
}

element_loads measured_on_three_pes() {
  element_loads l;
  l.pes = {{.pe = 0, .interval_ns = 1000, .speed = 4},
           {.pe = 1, .interval_ns = 1000, .speed = 2},
           {.pe = 2, .interval_ns = 1000, .speed = 4}};
  for (int i = 0; i < 6; ++i) {
    element_load e;
    e.identity = static_cast<std::uint64_t>(i) + 1;
    e.pe = i % 3;
    e.host_ns = i % 3 == 1 ? 400 : 200;
    e.crosses_processes = true;
    l.all.push_back(e);
  }
  return l;
}

TEST(pe_rates, make_what_elements_cost_comparable) {
  element_loads l = measured_on_three_pes();
  refer_to_the_fastest(l, true);
  for (const element_load& e : l.all) EXPECT_EQ(e.host_ns, 200);
  const balance_problem p = problem_of(l, {.num_pes = 3, .pes_per_rank = 3});
  EXPECT_EQ(p.pes[0].rate, 1);
  EXPECT_EQ(p.pes[1].rate, 0.5);
  EXPECT_DOUBLE_EQ(p.elements[4].host_seconds, 200e-9);
}

/// Two elements on the slow PE take twice as long as on the others: one of them goes.
TEST(pe_rates, make_a_plan_leave_less_to_a_slow_pe) {
  element_loads l = measured_on_three_pes();
  l.all.resize(5);  // of PE 2 one alone
  refer_to_the_fastest(l, true);
  const pe_shape shape{.num_pes = 3, .pes_per_rank = 3};
  const balance_problem p = problem_of(l, shape);
  const balance_plan plan = plan_live(*make_strategy("refine"), p, l, shape);
  ASSERT_EQ(plan.moves.size(), 1u);
  EXPECT_EQ(l.all[static_cast<std::size_t>(plan.moves[0].element)].pe, 1);
  EXPECT_EQ(plan.moves[0].to, 2);
}

TEST(pe_rates, of_gpus_go_by_their_memory) {
  element_loads l = measured_on_three_pes();
  l.pes[0].gpu = 0;
  l.pes[0].gpu_speed = 3.2e12;
  l.pes[2].gpu = 1;
  l.pes[2].gpu_speed = 4.8e12;
  for (element_load& e : l.all) e.gpu_ns = 300;
  refer_to_the_fastest(l, true);
  EXPECT_EQ(l.all[0].gpu_ns, 195) << "0.65 of it";
  EXPECT_EQ(l.all[2].gpu_ns, 300);
  const balance_problem p = problem_of(l, {.num_pes = 3, .pes_per_rank = 3});
  EXPECT_EQ(p.gpus.at(0).rate, 0.65);
  EXPECT_EQ(p.gpus.at(1).rate, 1);
}

}  // namespace
}  // namespace pe_rates_test
}  // namespace imbrex
