#include "imbrex/checkpoint/memory/recovery_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "imbrex/checkpoint/memory/rank_memory.h"

namespace recovery_plan_test {

namespace {

using namespace imbrex;

/// What rank `rank` of `n` says of checkpoint `number`, kept in groups of `group_size`.
memory_part_facts part_of(std::uint64_t number, std::int32_t rank, int n, int group_size) {
  rank_memory m;
  m.group_size = group_size;
  m.host_of_rank.assign(static_cast<std::size_t>(n), 0);
  memory_part_facts f;
  f.number = number;
  f.rank = rank;
  f.facts.shape = {n, 2, 0};
  f.layout = m.group_of(rank);
  for (const std::int32_t r : f.layout.members) f.files.push_back({.rank = r, .kinds = {}});
  return f;
}

using said = std::vector<std::vector<memory_part_facts>>;  // by rank of today

TEST(recovery_plan, takes_the_newest_that_can_be_restored) {
  said of_ranks;
  for (const std::int32_t r : {0, 1, 3}) of_ranks.push_back({part_of(4, r, 4, 2), part_of(5, r, 4, 2)});
  const recovery_plan plan = plan_recovery(of_ranks);
  EXPECT_EQ(plan.number, 5U);
  EXPECT_EQ(plan.facts.shape.num_ranks, 4);
  EXPECT_EQ(plan.rank_now, (std::vector<std::int32_t>{0, 1, -1, 2}));
  EXPECT_TRUE(plan.parts[2].is_lost);
  EXPECT_EQ(plan.parts[2].file.rank, 2);
  EXPECT_EQ(plan.parts[2].keeper, 2);  // rank 3 of then, the other one of its pair
  for (const std::size_t r : {0U, 1U, 3U}) EXPECT_FALSE(plan.parts[r].is_lost);
}

TEST(recovery_plan, takes_an_older_one_where_the_newest_is_not_whole_everywhere) {
  // Rank 2 is lost, and rank 3, which keeps its part, had not yet got all of it.
  said of_ranks{
      {part_of(4, 0, 4, 2), part_of(5, 0, 4, 2)}, {part_of(4, 1, 4, 2), part_of(5, 1, 4, 2)}, {part_of(4, 3, 4, 2)}};
  EXPECT_EQ(plan_recovery(of_ranks).number, 4U);
  // Where nobody of its group is lost, one that is not whole is restored from the others.
  of_ranks = {{part_of(5, 0, 4, 2)}, {}, {part_of(5, 2, 4, 2)}, {part_of(5, 3, 4, 2)}};
  const recovery_plan plan = plan_recovery(of_ranks);
  EXPECT_EQ(plan.number, 5U);
  EXPECT_EQ(plan.parts[1].keeper, 0);
}

TEST(recovery_plan, says_why_there_is_none) {
  EXPECT_EQ(plan_recovery({{}, {}}).number, 0U);
  EXPECT_EQ(plan_recovery({{}, {}}).why_not, "");
  const recovery_plan pair = plan_recovery({{part_of(5, 0, 4, 2)}, {part_of(5, 1, 4, 2)}});
  EXPECT_EQ(pair.number, 0U);
  EXPECT_THAT(pair.why_not, testing::HasSubstr("rank 2 is lost with all that could restore"));
  const recovery_plan two = plan_recovery({{part_of(5, 0, 4, 8)}, {part_of(5, 1, 4, 8)}});
  EXPECT_EQ(two.number, 0U);
  EXPECT_THAT(two.why_not, testing::HasSubstr("2 of the 4 ranks of a group are lost, whose parity restores 1"));
}

}  // namespace

}  // namespace recovery_plan_test
