#include "imbrex/balance/balance_plan.h"

#include <gmock/gmock.h>

#include "imbrex/base/error.h"
#include "unit/balance/small_problems.h"

namespace balance_plan_test {

using namespace imbrex;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Two nodes of two PEs, each node with a GPU; four elements in a ring.
balance_problem four_elements() {
  balance_problem p = small_problems::of_weights({1, 2, 3, 4}, 4);
  p.gpus.resize(2);
  for (int i = 0; i < 4; ++i) {
    balance_pe& pe = p.pes[static_cast<std::size_t>(i)];
    pe.rank = i;
    pe.node = pe.gpu = i / 2;
  }
  p.elements[0].gpu_seconds = 6;
  p.elements[0].device_bytes = 100;
  p.elements[0].move_bytes = 11;
  p.elements[2].pinned = true;
  p.gpus[0].memory_bytes = 50;
  p.communication = communication_graph::of(4, {{0, 1, 10}, {1, 2, 20}, {2, 3, 40}, {3, 0, 80}});
  return p;
}

TEST(judge, predicts_where_all_is_now) {
  const balance_problem p = four_elements();
  const judgement j = judge(p, {});
  EXPECT_THAT(j.pe_times, ElementsAre(10, 0, 0, 0));
  EXPECT_THAT(j.gpu_times, ElementsAre(6, 0));
  EXPECT_EQ(j.time, 10);
  EXPECT_EQ(j.pes.busiest, 0);
  EXPECT_EQ(j.pes.mean, 2.5);
  EXPECT_EQ(j.pes.imbalance(), 4);
  EXPECT_EQ(j.gpus.mean, 3);
  EXPECT_EQ(j.efficiency, 0.3) << "GPUs have more to do than PEs";
  EXPECT_EQ(j.bytes_between_pes, 0);
  EXPECT_THAT(j.excesses, ElementsAre(memory_excess{0, 100, 50}));
}

TEST(judge, predicts_what_a_plan_brings) {
  balance_problem p = four_elements();
  p.pes[3].rate = 2;
  p.pes[3].background_seconds = 0.25;
  p.gpus[1].rate = 1.5;
  const judgement j = judge(p, {{{0, 3}, {1, 1}, {3, 2}}});
  EXPECT_THAT(j.pe_times, ElementsAre(3, 2, 4, 0.75));
  EXPECT_THAT(j.gpu_times, ElementsAre(0, 4));
  EXPECT_EQ(j.time, 4);
  EXPECT_DOUBLE_EQ(j.pes.mean, (3 + 2 + 4 + 0.75 * 2) / 5);
  EXPECT_EQ(j.bytes_between_pes, 150);
  EXPECT_EQ(j.bytes_between_ranks, 150);
  EXPECT_EQ(j.bytes_between_nodes, 50) << "0 with 1, and 2 with 3";
  EXPECT_EQ(j.num_moves, 3U);
  EXPECT_EQ(j.moved_bytes, 11U);
  EXPECT_TRUE(j.excesses.empty());
}

TEST(judge, finds_nothing_to_do_even) {
  balance_problem p;
  p.pes.resize(3);
  const judgement j = judge(p, {});
  EXPECT_EQ(j.time, 0);
  EXPECT_EQ(j.efficiency, 1);
  EXPECT_EQ(j.pes.efficiency(), 1);
  EXPECT_EQ(j.pes.imbalance(), 0);
  EXPECT_EQ(j.gpus.busiest, -1);
}

TEST(check_plan, refuses_what_cannot_be_carried_out) {
  balance_problem p = four_elements();
  p.pes[1].gpu = no_gpu;
  EXPECT_NO_THROW(check_plan(p, {{{0, 3}, {1, 1}}}));
  const auto message = [&](const balance_plan& plan) -> std::string {
    try {
      check_plan(p, plan);
    } catch (const usage_error& e) {
      return e.what();
    }
    return "nothing was thrown";
  };
  EXPECT_THAT(message({{{4, 1}}}), HasSubstr("element 4, but there are 4"));
  EXPECT_THAT(message({{{-1, 1}}}), HasSubstr("element -1"));
  EXPECT_THAT(message({{{0, 4}}}), HasSubstr("PE 4, but there are 4"));
  EXPECT_THAT(message({{{1, 2}, {1, 3}}}), HasSubstr("twice"));
  EXPECT_THAT(message({{{2, 1}}}), HasSubstr("pinned"));
  EXPECT_THAT(message({{{1, 0}}}), HasSubstr("where it is"));
  EXPECT_THAT(message({{{0, 1}}}), HasSubstr("needs a GPU"));
}

TEST(balance_plan, leads_to_a_placement_and_back) {
  const balance_problem p = four_elements();
  const std::vector<int> placement{1, 0, 0, 2};
  const balance_plan plan = plan_to(p, placement);
  EXPECT_THROW(static_cast<void>(plan_to(p, std::vector<int>(p.elements.size() - 1, 0))), usage_error);
  EXPECT_THAT(plan.moves, ElementsAre(balance_move{0, 1}, balance_move{3, 2}));
  EXPECT_EQ(placement_after(p, plan), placement);
}

}  // namespace

}  // namespace balance_plan_test
