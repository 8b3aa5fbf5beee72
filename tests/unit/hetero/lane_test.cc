#include "imbrex/hetero/lane.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "hetero_fixture.h"

using namespace imbrex;
using namespace imbrex_test;

namespace {

/// What is behind a copy waits for it, and not for the copies after it.
TEST(lane, of_data_is_waited_for_up_to_the_point) {
  for (const bool carries_data : {false, true}) {
    hetero_pe on;
    lane data(on.host.make_stream(stream_priority::low, "data"), 0, carries_data);
    lane urgent(on.host.make_stream(stream_priority::high, "urgent"), 1);
    std::vector<std::string> order;
    data->launch("first", [&order] { order.emplace_back("first"); });
    const lane_point first = data.put();
    data->launch("second", [&order] { order.emplace_back("second"); });
    data.put();
    urgent.wait(first);
    urgent->launch("behind first", [&order] { order.emplace_back("behind first"); });
    on.pe.run();
    if (carries_data) {
      EXPECT_THAT(order, testing::ElementsAre("first", "behind first", "second"));
    } else {
      EXPECT_THAT(order, testing::ElementsAre("first", "second", "behind first"));
    }
  }
}

TEST(lane, points_that_have_been_reached_are_forgotten) {
  hetero_pe on;
  lane data(on.host.make_stream(stream_priority::low, "data"), 0, true);
  lane other(on.host.make_stream(stream_priority::high, "other"), 1);
  for (int i = 0; i < 100; ++i) {
    data->launch("work", [] {});
    const lane_point p = data.put();
    other.wait(p);
    data.flush();
    on.pe.run();
    EXPECT_TRUE(p.reached());
    EXPECT_EQ(data.num_marks(), 0);
  }
}

}  // namespace
