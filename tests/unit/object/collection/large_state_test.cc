#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <cstdint>
#include <vector>

#include "unit/object/job.h"

namespace large_state_test {

/// Elements whose state takes longer to travel than the messages that follow them.
namespace {

namespace ix = imbrex;

struct heavy : ix::chare<heavy, ix::index1d> {
  heavy() : state(1 << 20, 7) {}
  void go(int to) { migrate_to(to); }
  void count() { ++counted; }
  int where() { return pe(); }
  std::vector<std::int64_t> result() {
    std::int64_t sum = 0;
    for (const int x : state) sum += x;
    return {counted, sum};
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & state & counted;
  }
  std::vector<int> state;
  int counted = 0;
};

/// Messages that this PE has performed.
struct observer : ix::chare<observer, ix::index1d> {
  void count() { contribute(static_cast<std::int64_t>(ix::scheduler::current().message_counts().processed), ix::sum); }
};

constexpr int num_messages = 400;

ix::task<int> follow(ix::runtime& rt) {
  const auto array = rt.create_array<heavy>(ix::index1d(1));
  const auto observers = rt.create_group<observer>();
  auto performed = [&]() -> ix::task<std::int64_t> {
    observers.broadcast<&observer::count>();
    co_return co_await observers.reduction<std::int64_t>();
  };
  for (int round = 0; round < 3; ++round) {
    const int from = co_await array[0].call<&heavy::where>();
    auto first_count = performed();
    const std::int64_t before = co_await first_count;
    array[0].send<&heavy::go>((from + rt.num_pes() - 1) % rt.num_pes());
    for (int i = 0; i < num_messages; ++i) array[0].send<&heavy::count>();
    co_await rt.quiescence();
    const std::vector<std::int64_t> seen = co_await array[0].call<&heavy::result>();
    auto last_count = performed();
    const std::int64_t messages = co_await last_count - before;
    EXPECT_EQ(seen[0], (round + 1) * num_messages);
    EXPECT_EQ(seen[1], std::int64_t{7} << 20);
    // From here to where it was, on to where it went; and it may have been on its way there, too.
    EXPECT_LT(messages, 3 * num_messages + 200) << "round " << round;
  }
  co_return 0;
}

TEST(large_state, messages_follow_it_without_going_back_and_forth) {
  for (const imbrex_test::job_shape& s :
       {imbrex_test::job_shape{2, 1}, {1, 2}, {2, 2}, {1, 3, 0, 300}, {2, 3, 7, 200}, {8, 2}}) {
    SCOPED_TRACE(imbrex_test::to_text(s));
    EXPECT_EQ(imbrex_test::run_job_with(s, &follow), 0);
  }
}

}  // namespace

}  // namespace large_state_test
