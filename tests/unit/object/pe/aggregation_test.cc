#include <gmock/gmock.h>

#include "unit/device/device_bench.h"
#include "unit/object/job.h"

namespace aggregation_test {

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
  static_assert(entry_body<entry<&counter::note>, index1d>::aggregated);
  static_assert(entry_body<entry<&counter::word>, index1d>::aggregated);
  static_assert(!entry_body<entry<&counter::alone>, index1d>::aggregated);
}

struct of_stream : chare<of_stream, index1d> {
  void note(int value) { sum_ += value; }
  int sum() const { return sum_; }
  using aggregated = entries<&of_stream::note>;

  // Sends when its stream has come there, which is while its PE has nothing to do.
  void start() {
    stream& s = streams().compute;
    if (long_.data() == nullptr) long_ = buffer<std::byte>(on_device(), std::size_t{8} << 20);
    s.fill(long_.data(), 1, long_.size());
    s.then("send", [this] { array()[1 - index()].send<&of_stream::note>(5); });
  }

 private:
  buffer<std::byte> long_;
  int sum_ = 0;
};

task<int> sent_by_streams(runtime& rt) {
  auto both = rt.create_array<of_stream>(index1d(2));
  for (int round = 1; round <= 5; ++round) {
    both.broadcast<&of_stream::start>();
    co_await rt.quiescence();
    auto asked = both[1].call<&of_stream::sum>();
    EXPECT_EQ(co_await std::move(asked), 5 * round);
  }
  co_return 0;
}

struct aggregation_on : testing::TestWithParam<device_kind> {};

TEST_P(aggregation_on, messages_of_a_stream_do_not_wait_for_others) {
  if (const std::string why = why_without(GetParam()); !why.empty()) GTEST_SKIP() << why;
  command_line line({1, 2}, {std::string("--imbrex-device=") + to_string(GetParam())});
  EXPECT_EQ(imbrex::run(line.count(), line.values(), sent_by_streams), 0);
}

INSTANTIATE_TEST_SUITE_P(devices, aggregation_on, testing::ValuesIn(all_device_kinds),
                         [](const auto& i) { return to_string(i.param); });

task<int> leave(runtime& rt) {
  auto all = rt.create_array<counter>(index1d(2));
  all.broadcast<&counter::talk>(3);
  rt.exit(0);
  co_return 0;
}
TEST(aggregation, waits_for_nobody_at_the_end_of_a_job) { EXPECT_EQ(run_job_with({1, 2}, leave), 0); }

}  // namespace

}  // namespace aggregation_test
