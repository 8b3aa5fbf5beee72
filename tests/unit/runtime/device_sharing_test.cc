#include "imbrex/runtime/rank/device_sharing.h"

#include <gtest/gtest.h>

namespace device_sharing_test {

using namespace imbrex::detail;

namespace {

TEST(device_sharing, counts_the_ranks_that_use_the_same_device) {
  const std::vector<devices_in_use> four{{"a", {"gpu 0"}}, {"a", {"gpu 0"}}, {"a", {"gpu 1"}}, {"b", {"gpu 0"}}};
  EXPECT_EQ(num_ranks_sharing(four, 0), 2);
  EXPECT_EQ(num_ranks_sharing(four, 1), 2);
  EXPECT_EQ(num_ranks_sharing(four, 2), 1);
  EXPECT_EQ(num_ranks_sharing(four, 3), 1) << "a device of another machine has the same name";
}

TEST(device_sharing, counts_a_rank_once) {
  const std::vector<devices_in_use> two{{"a", {"gpu 0", "gpu 1"}}, {"a", {"gpu 1", "gpu 0"}}};
  EXPECT_EQ(num_ranks_sharing(two, 0), 2);
  EXPECT_EQ(num_ranks_sharing({{"a", {}}}, 0), 1);
}

TEST(device_sharing, names_this_machine_the_same_each_time) {
  EXPECT_FALSE(name_of_this_machine().empty());
  EXPECT_EQ(name_of_this_machine(), name_of_this_machine());
}

}  // namespace

}  // namespace device_sharing_test
