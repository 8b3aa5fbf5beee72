// Tasks of devices that overtake others which are under way.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "imbrex/hetero/coherence/priority_count.h"
#include "unit/hetero/hetero_fixture.h"

namespace urgent_tasks_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct urgent_tasks : testing::Test {
  /// Enqueues a task; gives the urgency of its stream.
  stream_priority enqueue(hetero_pe& on, int priority) {
    hetero_object<double> x = on.object<double>(4);
    auto found = stream_priority::low;
    submit(
        *on.domain, {.priority = priority, .on = device_kind::host, .number = 0},
        [&found](stream& s, std::span<double>) {
          found = s.urgency();
          s.call("nothing", [] {});
        },
        write(x));
    on.dispatch(1);
    objects.push_back(x);
    return found;
  }
  std::vector<hetero_object<double>> objects;
};

TEST_F(urgent_tasks, have_streams_that_overtake_only_while_something_less_urgent_is_under_way) {
  {
    hetero_pe on(1);
    EXPECT_EQ(enqueue(on, 7), stream_priority::low) << "there is nothing to overtake";
    EXPECT_EQ(enqueue(on, 7), stream_priority::low);
    EXPECT_EQ(enqueue(on, 3), stream_priority::low);
    EXPECT_EQ(enqueue(on, 3), stream_priority::low);
    EXPECT_EQ(enqueue(on, 4), stream_priority::high);
    on.pe.run();
    EXPECT_EQ(enqueue(on, 4), stream_priority::low);
    objects.clear();
    on.pe.run();
  }
  hetero_options none;
  none.urgent_lanes = 0;
  hetero_pe on(1, 1 << 20, none);
  EXPECT_EQ(enqueue(on, 0), stream_priority::low);
  EXPECT_EQ(enqueue(on, 1), stream_priority::low);
  objects.clear();
  on.pe.run();
}

TEST(priority_count, is_that_of_a_multiset) {
  std::mt19937 random(5);
  std::multiset<int> expected;
  priority_count count;
  for (int i = 0; i < 10'000; ++i) {
    const int p = static_cast<int>(random() % 12) - 5;
    if (random() % 2 == 0) {
      count.add(p);
      expected.insert(p);
    } else if (const auto found = expected.find(p); found != expected.end()) {
      count.remove(p);
      expected.erase(found);
    }
    EXPECT_EQ(count.has_below(p), !expected.empty() && *expected.begin() < p);
  }
}

}  // namespace

}  // namespace urgent_tasks_test
