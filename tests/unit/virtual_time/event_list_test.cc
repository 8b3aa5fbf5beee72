#include "imbrex/virtual_time/core/event_list.h"

#include <gtest/gtest.h>

#include <map>

#include "imbrex/base/hash.h"

namespace event_list_test {

namespace {

using imbrex::event_list;
using imbrex::timed_event;

TEST(event_list, gives_the_earliest_and_of_equals_the_first) {
  imbrex::random_sequence random(7);
  event_list list;
  std::vector<timed_event> events(5000);
  std::multimap<std::int64_t, timed_event*> expected;  // keeps the order of equals
  std::size_t next = 0;
  while (next < events.size() || !expected.empty()) {
    if (next < events.size() && (expected.empty() || random.below(3) != 0)) {
      const auto at = static_cast<std::int64_t>(random.below(200));
      list.put(at, events[next]);
      expected.emplace(at, &events[next++]);
      continue;
    }
    const event_list::entry e = list.take();
    ASSERT_EQ(e.at, expected.begin()->first);
    ASSERT_EQ(e.what, expected.begin()->second);
    expected.erase(expected.begin());
  }
  EXPECT_TRUE(list.empty());
}

}  // namespace

}  // namespace event_list_test
