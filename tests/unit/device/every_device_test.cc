// What every device promises: the same tests over the host, CUDA and OpenCL.
#include <gmock/gmock.h>

#include <numeric>
#include <span>
#include <type_traits>

#include "device_bench.h"
#include "held_stream.h"
#include "imbrex/base/error.h"
#include "imbrex/base/memory/sanitizer.h"
#include "imbrex/device/copy.h"
#include "imbrex/device/run_ahead.h"

namespace every_device_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct every_device : testing::TestWithParam<device_kind> {
  void SetUp() override {
    if (const std::string why = why_without(GetParam()); !why.empty()) GTEST_SKIP() << why;
    bench = std::make_unique<device_bench>(GetParam());
  }
  device& on() { return bench->on(); }
  /// Enough for the host to come by before it is done.
  void take_time(stream& s) {
    if (long_.data() == nullptr) long_ = buffer<std::byte>(on(), std::size_t{64} << 20);
    const int rounds = GetParam() == device_kind::cuda ? 8 : 1;  // which takes no time to start
    for (int i = 0; i < rounds; ++i) s.fill(long_.data(), 1, long_.size());
  }

  void hold(stream& s) {
    imbrex_test::hold(s, [&] { take_time(s); });
  }

  std::unique_ptr<device_bench> bench;
  buffer<std::byte> long_;
  void TearDown() override { long_ = {}; }
};

static_assert(std::is_convertible_v<std::span<int>, buffer_view<const int>>);
static_assert(!std::is_convertible_v<std::span<const int>, buffer_view<int>>);

TEST_P(every_device, copies_and_fills_run_in_order) {
  constexpr std::size_t n = 100'000;
  auto s = bench->make();
  buffer<std::int64_t> host(on(), n, memory_kind::pinned), back(on(), n, memory_kind::pinned), data(on(), n),
      more(on(), n);
  EXPECT_EQ(data.kind(), on().allocates());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data.data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(host.data()) % 64, 0U);
  std::iota(host.data(), host.data() + n, 0);
  copy(data.view(), buffer_view<const std::int64_t>(host), *s);
  s->fill(data.data() + 10, 0xff, 80);
  copy(more.view(), buffer_view<const std::int64_t>(data), *s);
  s->fill(data.data(), 0, n * sizeof(std::int64_t));  // too late to matter
  copy(back.view(), buffer_view<const std::int64_t>(more), *s);
  bench->finish(*s);
  EXPECT_TRUE(s->idle());
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(back.data()[i], i >= 10 && i < 20 ? -1 : static_cast<std::int64_t>(i));
}

TEST_P(every_device, copies_ordinary_memory_of_the_host_and_odd_ranges) {
  auto s = bench->make();
  std::vector<unsigned char> from(1000), to(1000, 7);
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(0));
  buffer<unsigned char> data(on(), 1001);
  s->copy(data.data() + 1, from.data(), from.size());
  s->fill(data.data() + 4, 9, 3);
  s->fill(data.data() + 20, 8, 16);
  s->copy(to.data(), data.data() + 1, 500);
  s->copy(to.data(), data.data(), 0);
  buffer<unsigned char> pinned(on(), 100, memory_kind::pinned);
  std::fill_n(pinned.data(), 100, static_cast<unsigned char>(7));
  s->fill(pinned.data() + 60, 5, 10);
  bench->finish(*s);
  for (std::size_t i = 0; i < 500; ++i) {
    const unsigned char expected = i >= 3 && i < 6 ? 9 : i >= 19 && i < 35 ? 8 : from[i];
    ASSERT_EQ(to[i], expected) << i;
  }
  EXPECT_EQ(to[500], 7);
  EXPECT_EQ(pinned.data()[59], 7);
  EXPECT_EQ(pinned.data()[69], 5);
  EXPECT_EQ(pinned.data()[70], 7);
}

TEST_P(every_device, transfers_between_the_host_and_itself) {
  auto s = bench->make();
  buffer<int> there(on(), 100), from(on(), 100, memory_kind::pinned), to(on(), 100, memory_kind::pinned);
  std::iota(from.data(), from.data() + 100, 1);
  std::fill_n(to.data(), 100, -1);
  for (int round = 0; round < 3; ++round) {
    s->transfer(there.data(), from.data(), 100 * sizeof(int));
    s->transfer(to.data() + 1, there.data(), 98 * sizeof(int));
    s->transfer(to.data(), there.data(), 0);
  }
  bench->finish(*s);
  EXPECT_EQ(to.data()[0], -1);
  EXPECT_EQ(to.data()[1], 1);
  EXPECT_EQ(to.data()[98], 98);
  EXPECT_EQ(to.data()[99], -1);
}

TEST_P(every_device, a_function_runs_when_the_stream_has_come_there) {
  auto s = bench->make();
  buffer<int> data(on(), 1), host(on(), 1, memory_kind::pinned);
  *host.data() = 0;
  take_time(*s);
  s->fill(data.data(), 1, sizeof(int));
  s->copy(host.data(), data.data(), sizeof(int));
  int seen = -1;
  s->then("look", [&] { seen = *static_cast<volatile int*>(host.data()); });
  bench->finish(*s);
  EXPECT_EQ(seen, 0x01010101);
}

TEST_P(every_device, what_follows_a_launched_function_waits_for_it) {
  auto s = bench->make();
  buffer<std::int64_t> host(on(), 1, memory_kind::pinned), data(on(), 1);
  *host.data() = 1;
  take_time(*s);
  for (int round = 0; round < 20; ++round) {
    s->call("double", [&] { *host.data() *= 2; });
    s->copy(data.data(), host.data(), sizeof(std::int64_t));
    s->call("forget", [&] { *host.data() = -1; });
    s->copy(host.data(), data.data(), sizeof(std::int64_t));
  }
  bench->finish(*s);
  EXPECT_EQ(*host.data(), 1 << 20);
}

TEST_P(every_device, functions_run_in_their_order) {
  auto s = bench->make();
  std::vector<int> order;
  take_time(*s);
  for (int i = 0; i < 9; ++i) {
    if (i % 3 == 0) s->call("call", [&, i] { order.push_back(i); });
    if (i % 3 == 1) s->then("then", [&, i] { order.push_back(i); });
    if (i % 3 == 2) {
      take_time(*s);
      s->then("then", [&, i] { order.push_back(i); });
    }
  }
  bench->finish(*s);
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST_P(every_device, after_orders_streams) {
  auto first = bench->make(), second = bench->make(stream_priority::high);
  buffer<int> host(on(), 1, memory_kind::pinned), data(on(), 1), back(on(), 1, memory_kind::pinned);
  *host.data() = *back.data() = 0;
  for (int round = 1; round <= 10; ++round) {
    take_time(*first);
    first->call("write", [&, round] { *host.data() = round; });
    first->copy(data.data(), host.data(), sizeof(int));
    second->after(*first);
    second->copy(back.data(), data.data(), sizeof(int));
    first->after(*second);
    first->fill(data.data(), 0, sizeof(int));
    bench->finish(*second);
    ASSERT_EQ(*back.data(), round);
  }
  bench->finish(*first);
}

TEST_P(every_device, an_event_is_complete_when_what_stood_before_it_is) {
  auto s = bench->make(), t = bench->make();
  bool ran = false;
  hold(*s);
  s->call("k", [&] { ran = true; });
  s->fill(long_.data(), 0, 1);
  const event e = s->record();
  EXPECT_FALSE(e.complete());
  EXPECT_FALSE(ran);
  t->wait(e);
  t->fill(long_.data(), 0, 1);
  bench->finish(*t);
  EXPECT_TRUE(ran);
  EXPECT_TRUE(e.complete());
  bench->finish(*s);
  EXPECT_TRUE(s->record().complete()) << "nothing stands before it";
  t->wait(e);
  bench->finish(*t);
}

TEST_P(every_device, is_an_operation_of_the_pe_until_it_has_finished) {
  auto s = bench->make();
  EXPECT_EQ(bench->pe.queue.operations, 0U);
  hold(*s);
  EXPECT_EQ(bench->pe.queue.operations, 1U);
  bench->run_until([&] { return bench->pe.queue.operations == 0; });
  EXPECT_TRUE(s->idle());
}

task<> wait_twice(stream* s, std::vector<int>* order) {
  co_await s->done();
  order->push_back(2);
  co_await s->done();  // idle: goes on at once
  order->push_back(3);
}

TEST_P(every_device, done_resumes_when_what_was_enqueued_before_has_finished) {
  auto s = bench->make();
  std::vector<int> order;
  hold(*s);
  s->call("k", [&] { order.push_back(1); });
  bench->run(wait_twice(s.get(), &order));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  bench->run_until([&] { return bench->pe.queue.operations == 0; });
}

TEST_P(every_device, a_chain_that_waits_for_a_stream_may_be_destroyed) {
  auto s = bench->make();
  std::vector<int> order;
  hold(*s);
  s->call("k", [&] { order.push_back(1); });
  {
    started chain(wait_twice(s.get(), &order));
  }
  bench->finish(*s);
  EXPECT_EQ(order, (std::vector<int>{1}));
}

TEST_P(every_device, a_stream_that_is_destroyed_drops_functions_that_have_not_run) {
  auto s = bench->make();
  auto waiting = bench->make();
  bool ran = false;
  hold(*s);
  s->call("k", [&] { ran = true; });
  s->then("k", [&] { ran = true; });
  waiting->after(*s);
  s.reset();
  bench->finish(*waiting);  // nobody waits for a stream that is gone
  bench->run_until([&] { return bench->pe.queue.operations == 0; });
  EXPECT_FALSE(ran);
}

TEST_P(every_device, a_stopped_stream_hides_no_other) {
  auto slow = bench->make(), fast = bench->make();
  take_time(*slow);
  auto hold = std::make_unique<bool>(false);
  slow->call("look", [&] { *hold = true; });
  slow->then("slow", [] {});
  buffer<std::byte> other(on(), 1);
  fast->fill(other.data(), 0, 1);
  bench->finish(*fast);
  bench->finish(*slow);
  EXPECT_TRUE(*hold);
}

TEST_P(every_device, many_streams_at_once) {
  constexpr std::size_t num_streams = 40, length = 100;
  std::vector<std::unique_ptr<stream>> streams;
  std::vector<buffer<std::size_t>> in, out, data;
  int functions = 0;
  for (std::size_t i = 0; i < num_streams; ++i) {
    streams.push_back(bench->make(i % 2 == 0 ? stream_priority::low : stream_priority::high));
    in.emplace_back(on(), length, memory_kind::pinned);
    out.emplace_back(on(), length, memory_kind::pinned);
    data.emplace_back(on(), length);
    std::fill_n(in[i].data(), length, i);
  }
  for (std::size_t i = 0; i < num_streams; ++i) {
    copy(data[i].view(), buffer_view<const std::size_t>(in[i]), *streams[i]);
    streams[i]->then("count", [&] { ++functions; });
  }
  for (std::size_t i = 0; i < num_streams; ++i) {  // each takes what its neighbour has
    stream& s = *streams[i];
    s.after(*streams[(i + 1) % num_streams]);
    copy(out[i].view(), buffer_view<const std::size_t>(data[(i + 1) % num_streams]), s);
    s.call("count", [&] { ++functions; });
  }
  for (auto& s : streams) bench->finish(*s);
  EXPECT_EQ(functions, static_cast<int>(2 * num_streams));
  for (std::size_t i = 0; i < num_streams; ++i) EXPECT_EQ(out[i].data()[length - 1], (i + 1) % num_streams);
}

task<> many_steps(stream* s, std::byte* data, std::size_t bytes, int* enqueued) {
  run_ahead ahead(4);
  for (int i = 0; i < 40; ++i) {
    s->fill(data, static_cast<unsigned char>(i), bytes);
    ++*enqueued;
    co_await ahead.step(*s);
  }
  co_await s->done();
}

TEST_P(every_device, a_coroutine_runs_ahead_so_far_and_no_further) {
  auto s = bench->make();
  int enqueued = 0;
  hold(*s);
  started steps(many_steps(s.get(), long_.data(), long_.size(), &enqueued));
  EXPECT_EQ(enqueued, 5);  // the stream is held until this PE looks at it
  bench->run_until([&] { return steps.ended(); });
  EXPECT_EQ(enqueued, 40);
}

TEST_P(every_device, steady_state_asks_nothing_of_the_system) {
  if (on().kind() == device_kind::host && is_watched_by_address_sanitizer())
    GTEST_SKIP() << "nothing is kept where the address sanitizer watches";
  auto s = bench->make(), t = bench->make();
  auto round = [&] {
    buffer<std::int64_t> data(on(), 1000), host(on(), 1000, memory_kind::pinned);
    for (int i = 0; i < 20; ++i) {
      s->fill(data.data(), 1, 8000);
      t->after(*s);
      t->copy(host.data(), data.data(), 8000);
      s->after(*t);
    }
    bench->finish(*s);
    bench->finish(*t);
  };
  const std::uint64_t of_streams = on().used(memory_kind::pinned).in_use;
  for (int i = 0; i < 3; ++i) round();
  const std::uint64_t calls = on().used(on().allocates()).system_calls + on().used(memory_kind::pinned).system_calls;
  for (int i = 0; i < 10; ++i) round();
  EXPECT_EQ(on().used(on().allocates()).system_calls + on().used(memory_kind::pinned).system_calls, calls);
  EXPECT_EQ(on().used(memory_kind::pinned).in_use, of_streams);
}

TEST_P(every_device, tells_what_it_is_and_has) {
  EXPECT_EQ(on().kind(), GetParam());
  EXPECT_FALSE(on().name().empty());
  EXPECT_TRUE(on().reaches(on()));
  EXPECT_GT(on().memory().total, 0U);
  EXPECT_LE(on().memory().free, on().memory().total);
}

TEST_P(every_device, reads_its_memory_now_and_then) {
  auto s = bench->make();
  buffer<int> data(on(), 10);
  s->fill(data.data(), 1, 40);
  const event e = s->record();
  if (GetParam() == device_kind::host) bench->finish(*s);
  std::array<int, 10> seen{};
  on().read_now(seen.data(), data.data(), sizeof seen, e);
  EXPECT_EQ(seen[9], 0x01010101);
  bench->finish(*s);
}

TEST_P(every_device, memory_that_is_not_there_is_a_named_error) {
  buffer<double> held(on(), 1 << 20);
  try {
    buffer<double> all(on(),
                       std::size_t{1} << 56);  // more than there are addresses: hosts promise what they do not have
    FAIL() << "no device has that much";
  } catch (const out_of_memory& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("576460752303423488"));
  }
}

INSTANTIATE_TEST_SUITE_P(devices, every_device, testing::ValuesIn(all_device_kinds),
                         [](const auto& kind) { return to_string(kind.param); });

}  // namespace

}  // namespace every_device_test
