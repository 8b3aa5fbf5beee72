#include "imbrex/device/stream_drain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "device_bench.h"
#include "held_stream.h"
#include "imbrex/device/stream_set.h"

namespace stream_drain_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct stream_drain_of : testing::TestWithParam<device_kind> {
  void SetUp() override {
    if (const std::string why = why_without(GetParam()); !why.empty()) GTEST_SKIP() << why;
    bench = std::make_unique<device_bench>(GetParam());
    set.emplace(bench->on(), "a test");
  }
  auto note(int n) {
    return [this, n] { order.push_back(n); };
  }
  void run() {
    bench->run_until([this] { return set->idle() && !bench->pe.queue.has_ready(); });
  }

  std::unique_ptr<device_bench> bench;
  std::optional<stream_set> set;
  std::vector<int> order;
};

TEST_P(stream_drain_of, runs_after_what_stood_in_all_streams) {
  EXPECT_TRUE(set->idle());
  set->compute.call("one", note(1));
  set->unpack.after(set->compute);
  set->unpack.call("two", note(2));
  set->when_idle(note(3));
  EXPECT_FALSE(set->idle() && order.empty());
  run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_P(stream_drain_of, is_never_called_from_within) {
  set->when_idle(note(1));
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(bench->pe.queue.operations, 1U) << "quiescence waits for it";
  run();
  EXPECT_EQ(order, (std::vector<int>{1}));
  EXPECT_EQ(bench->pe.queue.operations, 0U);
}

TEST_P(stream_drain_of, waits_for_what_is_enqueued_meanwhile) {
  set->compute.call("one", [this] {
    order.push_back(1);
    set->pack.call("two", [this] {
      order.push_back(2);
      set->compute.call("three", note(3));
    });
  });
  set->when_idle(note(4));
  run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3, 4}));
}

TEST_P(stream_drain_of, waits_while_something_holds_the_streams) {
  set->hold();
  EXPECT_FALSE(set->idle());
  set->when_idle(note(1));
  bench->pe.run();
  EXPECT_TRUE(order.empty());
  set->unpack.call("arrives", note(0));
  set->let_go();
  run();
  EXPECT_EQ(order, (std::vector<int>{0, 1}));
}

TEST_P(stream_drain_of, a_hold_that_comes_later_counts_too) {
  set->compute.call("one", [this] {
    order.push_back(1);
    set->hold();
  });
  set->when_idle(note(2));
  bench->run_until([this] { return !order.empty() && all_idle(std::vector<stream*>{&set->compute}); });
  bench->pe.run();
  EXPECT_EQ(order, (std::vector<int>{1}));
  set->let_go();
  run();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_P(stream_drain_of, may_destroy_the_streams) {
  set->compute.call("one", note(1));
  set->when_idle([this] {
    order.push_back(2);
    set.reset();
  });
  bench->run_until([this] { return !set.has_value(); });
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(bench->pe.queue.operations, 0U);
}

TEST_P(stream_drain_of, several_are_called_in_order) {
  set->compute.call("one", note(1));
  set->when_idle(note(2));
  set->when_idle(note(3));
  run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
}

TEST_P(stream_drain_of, is_called_off_with_the_streams) {
  set->compute.call("one", note(1));
  set->when_idle(note(2));
  set.reset();
  bench->pe.run();
  EXPECT_EQ(std::ranges::count(order, 2), 0);
  EXPECT_EQ(bench->pe.queue.operations, 0U);
}

TEST_P(stream_drain_of, is_called_off_while_its_turn_is_queued) {
  set->when_idle(note(1));
  set.reset();
  bench->pe.run();
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(bench->pe.queue.operations, 0U);
}

TEST_P(stream_drain_of, may_be_moved) {
  std::optional<stream_drain> first(std::in_place, std::vector<stream*>{&set->compute}, note(1));
  stream_drain second = std::move(*first);
  first.reset();
  EXPECT_TRUE(second.pending());
  run();
  EXPECT_FALSE(second.pending());
  EXPECT_EQ(order, (std::vector<int>{1}));
}

INSTANTIATE_TEST_SUITE_P(devices, stream_drain_of, testing::ValuesIn(all_device_kinds),
                         [](const auto& i) { return to_string(i.param); });

}  // namespace

}  // namespace stream_drain_test
