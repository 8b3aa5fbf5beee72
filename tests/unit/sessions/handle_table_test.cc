#include "base/handle_table.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace imbrex::sessions {

namespace handle_table_test {

namespace {

const declaration on_hosts{place::host, place::host, false};
const declaration on_devices{place::device, place::device, true};

TEST(HandleTable, FindsWhatWasSet) {
  static handle_table table;
  EXPECT_TRUE(table.find(17).empty());
  for (std::uintptr_t h = 16; h < 5000; h += 8) table.set(h, h % 16 == 0 ? on_hosts : on_devices);
  for (std::uintptr_t h = 16; h < 5000; h += 8) {
    EXPECT_TRUE(table.find(h).same_places(h % 16 == 0 ? on_hosts : on_devices)) << h;
  }
  EXPECT_TRUE(table.find(17).empty());
}

TEST(HandleTable, ForgetsAndTakesAgain) {
  static handle_table table;
  for (int round = 0; round < 10000; ++round) {
    const auto handle = static_cast<std::uintptr_t>(100 + 8 * (round % 50));
    table.set(handle, on_hosts);
    EXPECT_FALSE(table.find(handle).empty());
    table.erase(handle);
    EXPECT_TRUE(table.find(handle).empty());
  }
  table.set(100, on_devices);
  EXPECT_TRUE(table.find(100).from_session);
}

TEST(HandleTable, HandlesThatComeAndGoTakeLittleMemory) {
  static handle_table table;
  table.set(96, on_hosts);
  for (std::uintptr_t i = 0; i < 100000; ++i) {
    table.set(1000 + 16 * i, on_devices);
    table.erase(1000 + 16 * i);
  }
  EXPECT_FALSE(table.find(96).empty());
  EXPECT_LE(table.bytes(), 128u << 10);
}

TEST(HandleTable, LookUpsBesideChangesSeeTheirOwn) {
  static handle_table table;
  table.set(8, on_hosts);
  std::vector<std::thread> threads;
  for (std::uintptr_t t = 1; t <= 3; ++t) {
    threads.emplace_back([t] {
      for (std::uintptr_t i = 0; i < 3000; ++i) {
        const std::uintptr_t handle = t * 1000000 + 8 * i;
        table.set(handle, on_devices);
        ASSERT_TRUE(table.find(handle).same_places(on_devices));
        ASSERT_TRUE(table.find(8).same_places(on_hosts));
        if (i % 2 == 0) table.erase(handle);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace handle_table_test

}  // namespace imbrex::sessions
