#include "dealt_devices.h"

#include <gtest/gtest.h>

#include <set>

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

TEST(dealt_devices, counts_add_up_and_touch) {
  for (int pes = 1; pes <= 7; ++pes) {
    int next = 0;
    for (int pe = 0; pe < pes; ++pe) {
      EXPECT_EQ(dgemm::dealt_first(20, pe, pes), next);
      next += dgemm::dealt_count(20, pe, pes);
    }
    EXPECT_EQ(next, 20);
  }
}

}  // namespace
