#include "dealt_devices.h"

#include <gtest/gtest.h>

#include <set>

namespace dealt_devices_test {

namespace {

TEST(dealt_devices, every_device_has_a_pe_and_every_pe_a_device) {
  for (int pes = 1; pes <= 6; ++pes) {
    for (int devices = 1; devices <= 6; ++devices) {
      std::multiset<int> used;
      for (int pe = 0; pe < pes; ++pe) {
        const std::vector<int> mine = dgemm::dealt_devices(pe, pes, devices);
        EXPECT_FALSE(mine.empty());
        used.insert(mine.begin(), mine.end());
      }
      for (int d = 0; d < devices; ++d) EXPECT_GE(used.count(d), 1U) << pes << " PEs, device " << d;
      if (pes <= devices) {
        EXPECT_EQ(used.size(), static_cast<std::size_t>(devices));
      }
    }
  }
}

TEST(dealt_devices, counts_add_up_and_are_as_equal_as_can_be) {
  for (int pes = 1; pes <= 7; ++pes) {
    int sum = 0;
    for (int pe = 0; pe < pes; ++pe) {
      const int count = dgemm::dealt_count(20, pe, pes);
      EXPECT_TRUE(count == 20 / pes || count == 20 / pes + 1) << count;
      sum += count;
    }
    EXPECT_EQ(sum, 20);
  }
}

}  // namespace

}  // namespace dealt_devices_test
