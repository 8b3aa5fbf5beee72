#include <gtest/gtest.h>

#include <numeric>
#include <thread>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/base/memory/sanitizer.h"
#include "imbrex/device/host/host_device.h"
#include "unit/async/bare_pe.h"

namespace host_stream_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct host_stream : testing::Test {
  bare_pe pe;
  host_memory memory;
  host_device device{pe.queue, 0, memory};
  std::unique_ptr<stream> low = device.make_stream(stream_priority::low, "a stream");
  std::unique_ptr<stream> high = device.make_stream(stream_priority::high, "a stream");
  std::vector<int> order;
  auto note(int n) {
    return [this, n] { order.push_back(n); };
  }
};

TEST_F(host_stream, operations_of_a_stream_run_in_order) {
  for (int i = 0; i < 5; ++i) low->call("k", note(i));
  EXPECT_FALSE(low->idle());
  pe.run();
  EXPECT_TRUE(low->idle());
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3, 4}));
}

TEST_F(host_stream, a_high_priority_stream_runs_at_once_a_low_one_when_the_pe_is_free) {
  low->call("compute", note(1));
  high->call("pack", note(2));
  pe.run();
  EXPECT_EQ(order, (std::vector<int>{2, 1}));
}

TEST_F(host_stream, urgent_work_goes_between_two_kernels) {
  struct urgent : work {
    std::vector<int>* order;
  } u;
  u.order = &order;
  u.act = [](work* w, work_action) { static_cast<urgent*>(w)->order->push_back(9); };
  low->call("first", [&] {
    order.push_back(1);
    pe.queue.post(&u);
  });
  low->call("second", note(2));
  pe.run();
  EXPECT_EQ(order, (std::vector<int>{1, 9, 2}));
}

TEST_F(host_stream, after_orders_two_streams) {
  low->call("compute", note(1));
  high->after(*low);
  high->call("pack", note(2));
  EXPECT_TRUE(order.empty());
  pe.run();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST_F(host_stream, an_event_is_complete_when_what_stood_before_it_is) {
  low->call("k", note(1));
  const event e = low->record();
  low->call("k", note(2));
  EXPECT_FALSE(e.complete());
  pe.run();
  EXPECT_TRUE(e.complete());
  EXPECT_TRUE(low->record().complete()) << "nothing stands before it";
}

TEST_F(host_stream, copy_and_fill) {
  std::vector<int> from(100), to(100);
  std::iota(from.begin(), from.end(), 0);
  low->fill(to.data(), 0xff, to.size() * sizeof(int));
  low->copy(to.data(), from.data(), 50 * sizeof(int));
  pe.run();
  EXPECT_EQ(to[49], 49);
  EXPECT_EQ(to[50], -1);
}

TEST_F(host_stream, done_resumes_when_what_was_enqueued_before_has_finished) {
  low->call("k", note(1));
  auto wait = [](stream* s, std::vector<int>* o) -> task<> {
    co_await s->done();
    o->push_back(2);
    co_await s->done();  // idle: goes on at once
    o->push_back(3);
  };
  started chain(wait(low.get(), &order));
  pe.run();
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(pe.queue.operations, 0U);
}

TEST_F(host_stream, a_chain_that_waits_for_a_stream_may_be_destroyed) {
  low->call("k", note(1));
  auto wait = [](stream* s) -> task<> { co_await s->done(); };
  {
    started chain(wait(low.get()));
  }
  pe.run();
  EXPECT_EQ(order, (std::vector<int>{1}));
}

TEST_F(host_stream, a_stream_that_is_destroyed_drops_what_has_not_run) {
  low->call("k", note(1));
  low.reset();
  pe.run();
  EXPECT_TRUE(order.empty());
  EXPECT_EQ(pe.queue.operations, 0U);
}

TEST(host_streams_of_two_pes, wait_for_each_other) {
  bare_pe here;
  host_memory memory;
  host_device mine(here.queue, 0, memory);
  for (int round = 0; round < 200; ++round) {
    int data = 0;
    int seen = -1;
    auto blocker = mine.make_stream(stream_priority::low, "a stream");
    blocker->call("write", [&data] { data = 42; });
    const event written = blocker->record();
    std::atomic<bool> enqueued{false};
    executor queue;  // of the other PE; outlives its thread, as in a runtime
    std::thread other([&] {
      executor::set_current(&queue);
      host_device theirs(queue, 1, memory);
      auto t = theirs.make_stream(stream_priority::high, "a stream");
      t->wait(written);
      t->call("read", [&] { seen = data; });
      enqueued = true;
      while (!t->idle()) {
        queue.collect();
        while (work* w = queue.next()) w->act(w, work_action::run);
        if (!t->idle()) queue.sleep(100'000);
      }
      t.reset();
      executor::set_current(nullptr);
    });
    if (round % 2 == 0) {
      while (!enqueued) std::this_thread::yield();
    }
    here.run_until([&] { return blocker->idle(); });
    other.join();
    EXPECT_EQ(seen, 42);
  }
}

TEST(host_memory_pool, reuses_blocks_and_counts) {
  if (is_watched_by_address_sanitizer()) GTEST_SKIP() << "nothing is kept where the address sanitizer watches";
  host_memory memory;
  void* a = memory.allocate(10'000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a) % 64, 0U);
  memory.free(a, 10'000);
  void* b = memory.allocate(9'990);
  EXPECT_EQ(a, b);
  EXPECT_EQ(memory.used().from_system, 1U);
  EXPECT_GE(memory.used().in_use, 9'990U);
  EXPECT_EQ(memory.used().high_water, memory.used().in_use);
  memory.free(b, 9'990);
  EXPECT_EQ(memory.used().in_use, 0U);
}

TEST(host_memory_pool, what_cannot_be_had_is_a_named_error) {
  host_memory memory;
  try {
    memory.allocate(std::size_t{1} << 60);
    FAIL() << "no machine has that much";
  } catch (const out_of_memory& e) {
    EXPECT_NE(std::string(e.what()).find("1152921504606846976"), std::string::npos) << e.what();
  }
}

}  // namespace

}  // namespace host_stream_test
