#include <gmock/gmock.h>

#include "unit/object/job.h"

using namespace imbrex;
using namespace imbrex_test;

/// Messages to another rank that travel several together.
namespace {

struct counter : chare<counter, index1d> {
  void note(int from, int number) { check(from, number); }
  void word(int from, int number, const std::string& text) {
    check(from, number);
    EXPECT_EQ(text, std::string(static_cast<std::size_t>(number % 3000), 'x'));
  }
  void alone(int from, int number) { check(from, number); }
  using aggregated = entries<&counter::note, &counter::word>;

  // Everybody to everybody: small ones, some too large, some that do not wait.
  void talk(int count) {
    for (int i = 0; i < count; ++i) {
      for (int to = 0; to < extent(); ++to) {
        if (i % 50 == 17) {
          array()[to].send<&counter::alone>(int(index()), i);
        } else if (i % 10 == 3) {
          array()[to].send<&counter::word>(int(index()), i, std::string(static_cast<std::size_t>(i % 3000), 'x'));
        } else {
          array()[to].send<&counter::note>(int(index()), i);
        }
      }
    }
  }
  void finish(int count) {
    bool right = true;
    for (int from = 0; from < extent(); ++from) right = right && next_[from] == count;
    contribute(right ? 1 : 0, sum);
  }

 private:
  void check(int from, int number) {
    EXPECT_EQ(number, next_[from]);
    ++next_[from];
  }
  std::map<int, int> next_;
};

task<int> everybody(runtime& rt, int count) {
  auto all = rt.create_array<counter>(index1d(6));
  all.broadcast<&counter::talk>(count);
  co_await rt.quiescence();  // nothing may be left waiting
  all.broadcast<&counter::finish>(count);
  co_return co_await all.reduction<int>() == 6 ? 0 : 1;
}

TEST(aggregation, messages_arrive_in_order_and_none_is_left_behind) {
  for (const job_shape& s :
       {job_shape{1, 1}, job_shape{1, 2}, job_shape{2, 2}, job_shape{1, 3}, job_shape{2, 2, 0, 150}}) {
    SCOPED_TRACE(to_text(s));
    if (s.delay_us == 0) {
      EXPECT_EQ(run_job_with(s, everybody, 4000), 0);
    }
    EXPECT_EQ(run_job_with(s, everybody, 7), 0);
  }
}

TEST(aggregation, is_for_the_entry_methods_named) {
  static_assert(entry_body<&counter::note, index1d>::aggregated);
  static_assert(entry_body<&counter::word, index1d>::aggregated);
  static_assert(!entry_body<&counter::alone, index1d>::aggregated);
}

task<int> leave(runtime& rt) {
  auto all = rt.create_array<counter>(index1d(2));
  all.broadcast<&counter::talk>(3);
  rt.exit(0);
  co_return 0;
}
TEST(aggregation, waits_for_nobody_at_the_end_of_a_job) { EXPECT_EQ(run_job_with({1, 2}, leave), 0); }

}  // namespace
