#include <gmock/gmock.h>

#include <numeric>

#include "gpu_fixture.h"
#include "imbrex/base/clock.h"
#include "imbrex/base/error.h"
#include "imbrex/device/copy.h"
#include "imbrex/device/run_ahead.h"
#include "test_kernels.h"

namespace cuda_stream_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

struct cuda_stream : testing::TestWithParam<completion_mode> {
  void SetUp() override {
    SKIP_WITHOUT_GPU(1);
    gpu = std::make_unique<gpu_pe>(GetParam());
  }
  device& on() { return *gpu->devices[0]; }
  std::unique_ptr<stream> make() { return on().make_stream(stream_priority::low, "the stream of a test"); }

  std::unique_ptr<gpu_pe> gpu;
};

task<> wait_for(stream* s) { co_await s->done(); }

TEST_P(cuda_stream, copies_and_kernels_run_in_order) {
  constexpr std::size_t n = 100'000;
  auto s = make();
  buffer<std::int64_t> host(on(), n, memory_kind::pinned), back(on(), n, memory_kind::pinned), data(on(), n);
  EXPECT_EQ(data.kind(), memory_kind::device);
  std::iota(host.data(), host.data() + n, 0);
  copy(data.view(), buffer_view<const std::int64_t>(host), *s);
  multiply_add(*s, data.data(), n, 3, 5);
  multiply_add(*s, data.data(), n, 2, 1);
  copy(back.view(), buffer_view<const std::int64_t>(data), *s);
  gpu->run(wait_for(s.get()));
  EXPECT_TRUE(s->idle());
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(back.data()[i], (static_cast<std::int64_t>(i) * 3 + 5) * 2 + 1);
}

TEST_P(cuda_stream, is_not_blamed_for_an_earlier_error_of_somebody_else) {
  auto s = make();
  buffer<std::int64_t> data(on(), 10);
  EXPECT_NE(cudaSetDevice(12345), cudaSuccess);  // leaves its error behind
  EXPECT_NO_THROW(multiply_add(*s, data.data(), 10, 1, 1));
  gpu->run(wait_for(s.get()));
}

TEST_P(cuda_stream, a_kernel_may_tell_of_its_end_itself) {
  constexpr std::int64_t n = 1'000'003;
  auto s = make();
  buffer<std::int64_t> data(on(), n, memory_kind::pinned);  // seen by the host as soon as the flag is
  std::fill_n(data.data(), n, 0);
  for (std::int64_t round = 1; round <= 50; ++round) {
    marked_add(*s, data.data(), round % 2 == 0 ? n : 1, 1);  // of many thread blocks, and of one
    if (round % 3 == 0) multiply_add(*s, data.data(), n, 1, 0);
    gpu->run(wait_for(s.get()));
    ASSERT_EQ(*static_cast<volatile std::int64_t*>(data.data()), round);
    ASSERT_EQ(*static_cast<volatile std::int64_t*>(data.data() + n - 1), round / 2);
  }
  for (std::int64_t i = 1; i < n; ++i) ASSERT_EQ(data.data()[i], 25) << i;
}

TEST_P(cuda_stream, a_marked_kernel_in_a_graph_tells_nobody) {
  auto s = make();
  buffer<std::int64_t> data(on(), 1000), back(on(), 1000, memory_kind::pinned);
  s->fill(data.data(), 0, data.size() * sizeof(std::int64_t));
  auto g = s->capture([&] { marked_add(*s, data.data(), 1000, 2); });
  for (int i = 0; i < 3; ++i) s->run(*g);
  copy(back.view(), buffer_view<const std::int64_t>(data), *s);
  gpu->run(wait_for(s.get()));
  for (std::size_t i = 0; i < 1000; ++i) ASSERT_EQ(back.data()[i], 6);
}

TEST_P(cuda_stream, a_function_runs_when_the_stream_has_come_there) {
  auto s = make();
  buffer<int> done(on(), 1, memory_kind::pinned);
  *done.data() = 0;
  int seen = -1;
  take_time(*s, 2000, done.data());
  s->then("look", [&] { seen = *static_cast<volatile int*>(done.data()); });
  if (GetParam() != completion_mode::sync) {
    EXPECT_EQ(seen, -1);
  }
  gpu->run(wait_for(s.get()));
  EXPECT_EQ(seen, 1);
}

TEST_P(cuda_stream, what_follows_a_launched_function_waits_for_it) {
  auto s = make();
  buffer<std::int64_t> host(on(), 1, memory_kind::pinned), data(on(), 1), back(on(), 1, memory_kind::pinned);
  buffer<int> done(on(), 1, memory_kind::pinned);
  *host.data() = 1;
  take_time(*s, 1000, done.data());
  for (int round = 0; round < 3; ++round) {
    s->call("double", [&] { *host.data() *= 2; });
    copy(data.view(), buffer_view<const std::int64_t>(host), *s);
    multiply_add(*s, data.data(), 1, 1, 100);
    copy(host.view(), buffer_view<const std::int64_t>(data), *s);
  }
  copy(back.view(), buffer_view<const std::int64_t>(data), *s);
  gpu->run(wait_for(s.get()));
  EXPECT_EQ(*back.data(), 708);  // ((1*2+100)*2+100)*2+100
}

// Loading a kernel when it is first launched waits for the GPU, which waits for the PE, which loads.
TEST_P(cuda_stream, a_kernel_may_be_launched_for_the_first_time_while_a_stream_waits_for_the_host) {
  if (GetParam() == completion_mode::sync) GTEST_SKIP() << "sync blocks the PE: that is what it is";
  auto s = make();
  auto t = make();
  buffer<int> done(on(), 2, memory_kind::pinned);
  done.data()[0] = done.data()[1] = 0;
  take_time(*s, 1000, done.data());
  s->call("step", [] {});
  launch_for_the_first_time(*t, static_cast<int>(GetParam()), done.data() + 1);
  gpu->run(wait_for(t.get()));
  EXPECT_EQ(static_cast<volatile int*>(done.data())[1], 1);
  gpu->run(wait_for(s.get()));
}

TEST_P(cuda_stream, after_orders_streams_without_the_host) {
  auto first = make(), second = make();
  buffer<int> done(on(), 1, memory_kind::pinned), copied(on(), 1, memory_kind::pinned);
  *done.data() = *copied.data() = 0;
  take_time(*first, 3000, done.data());
  second->after(*first);
  second->copy(copied.data(), done.data(), sizeof(int));
  gpu->run(wait_for(second.get()));
  EXPECT_EQ(*copied.data(), 1);
}

TEST_P(cuda_stream, a_slow_stream_hides_no_other) {
  if (GetParam() == completion_mode::sync) GTEST_SKIP() << "sync blocks the PE: that is what it is";
  auto slow = make(), fast = make();
  buffer<int> done(on(), 2, memory_kind::pinned);
  done.data()[0] = done.data()[1] = 0;
  take_time(*slow, 300'000, done.data());
  slow->then("slow", [] {});
  take_time(*fast, 10, done.data() + 1);
  const std::int64_t start = now_ns();
  gpu->run(wait_for(fast.get()));
  EXPECT_LT(now_ns() - start, 200'000'000);
  EXPECT_FALSE(slow->idle());
  gpu->run(wait_for(slow.get()));
}

TEST_P(cuda_stream, steady_state_asks_nothing_of_the_system) {
  auto s = make(), t = make();
  auto round = [&] {
    buffer<std::int64_t> data(on(), 1000), host(on(), 1000, memory_kind::pinned);
    for (int i = 0; i < 20; ++i) {
      multiply_add(*s, data.data(), 1000, 1, 1);
      t->after(*s);
      multiply_add(*t, data.data(), 1000, 1, 1);
      s->after(*t);
    }
    gpu->run(wait_for(s.get()));
    gpu->run(wait_for(t.get()));
  };
  for (int i = 0; i < 5; ++i) round();
  const std::uint64_t events = gpu->devices[0]->gpu().events_created();
  const std::uint64_t calls = on().used(memory_kind::device).system_calls;
  for (int i = 0; i < 10; ++i) round();
  EXPECT_LE(gpu->devices[0]->gpu().events_created(), events + 2);  // how many are under way at once is up to chance
  EXPECT_EQ(on().used(memory_kind::device).system_calls, calls);
}

TEST_P(cuda_stream, is_an_operation_of_the_pe_until_it_has_finished) {
  if (GetParam() == completion_mode::sync) GTEST_SKIP() << "sync blocks the PE: that is what it is";
  auto s = make();
  buffer<int> done(on(), 1, memory_kind::pinned);
  *done.data() = 0;
  EXPECT_EQ(gpu->pe.queue.operations, 0u);
  take_time(*s, 20'000, done.data());
  EXPECT_EQ(gpu->pe.queue.operations, 1u);
  gpu->run_until([&] { return gpu->pe.queue.operations == 0; });
  EXPECT_EQ(*done.data(), 1);
}

TEST_P(cuda_stream, graphs_are_captured_run_and_captured_again) {
  auto s = make(), side = make();
  buffer<std::int64_t> data(on(), 10), host(on(), 10, memory_kind::pinned);
  s->fill(data.data(), 0, 10 * sizeof(std::int64_t));
  auto enqueue = [&](std::int64_t term) {
    side->wait(s->record());
    multiply_add(*side, data.data(), 5, 1, term);
    multiply_add(*s, data.data() + 5, 5, 1, 2 * term);
    s->wait(side->record());
  };
  auto g = s->capture([&] { enqueue(1); });
  EXPECT_GE(g->num_operations(), 2u);
  for (int i = 0; i < 10; ++i) s->run(*g);
  gpu->run(wait_for(s.get()));
  EXPECT_TRUE(s->recapture(*g, [&] { enqueue(100); }));
  s->run(*g);
  copy(host.view(), buffer_view<const std::int64_t>(data), *s);
  gpu->run(wait_for(s.get()));
  EXPECT_EQ(host.data()[0], 110);
  EXPECT_EQ(host.data()[9], 220);
  gpu->run(wait_for(side.get()));
}

TEST_P(cuda_stream, nothing_in_a_graph_can_be_awaited) {
  auto s = make();
  EXPECT_THROW(s->capture([&] { s->then("x", [] {}); }), usage_error);
  gpu->run(wait_for(s.get()));  // it goes on
}

task<> many_steps(stream* s, int* done, int* enqueued) {
  run_ahead ahead(4);
  for (int i = 0; i < 40; ++i) {
    take_time(*s, 500, done);
    ++*enqueued;
    co_await ahead.step(*s);
  }
  co_await s->done();
}

TEST_P(cuda_stream, a_coroutine_runs_ahead_so_far_and_no_further) {
  auto s = make();
  buffer<int> done(on(), 1, memory_kind::pinned);
  int enqueued = 0;
  const std::int64_t start = now_ns();
  started steps(many_steps(s.get(), done.data(), &enqueued));
  if (GetParam() != completion_mode::sync) {
    EXPECT_GE(enqueued, 5);
    EXPECT_LE(enqueued, 8);
  }
  gpu->run_until([&] { return steps.ended(); });
  EXPECT_EQ(enqueued, 40);
  EXPECT_GE(now_ns() - start, 20'000'000);
}

TEST_P(cuda_stream, a_refused_launch_names_kernel_and_stream) {
  auto s = make();
  try {
    launch_with_too_many_threads(*s);
    FAIL() << "nothing was thrown";
  } catch (const device_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("too_many_threads"));
    EXPECT_THAT(e.what(), testing::HasSubstr("the stream of a test"));
    EXPECT_THAT(e.what(), testing::HasSubstr("4096"));
  }
  buffer<std::int64_t> data(on(), 1);
  multiply_add(*s, data.data(), 1, 1, 1);  // innocent
  gpu->run(wait_for(s.get()));
}

TEST_P(cuda_stream, memory_that_is_not_there_is_a_named_error) {
  buffer<double> held(on(), 1 << 20);
  try {
    buffer<double> all(on(), std::size_t{1} << 40);
    FAIL() << "no GPU has that much";
  } catch (const out_of_memory& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("GPU 0"));
    EXPECT_THAT(e.what(), testing::HasSubstr("8796093022208"));
  }
}

TEST_P(cuda_stream, copies_between_gpus) {
  SKIP_WITHOUT_GPU(2);
  gpu.reset();
  gpu = std::make_unique<gpu_pe>(GetParam(), std::vector<int>{0, 1});
  device& other = *gpu->devices[1];
  auto s = make();
  auto t = other.make_stream(stream_priority::high, "a stream of the other GPU");
  buffer<std::int64_t> here(on(), 1000), there(other, 1000), host(on(), 1000, memory_kind::pinned);
  s->fill(here.data(), 0, here.size() * sizeof(std::int64_t));
  for (int i = 0; i < 100; ++i) {
    multiply_add(*s, here.data(), 1000, 1, 1);
    t->after(*s);
    t->copy(there.data(), here.data(), 1000 * sizeof(std::int64_t));
    multiply_add(*t, there.data(), 1000, 1, 1);
    s->after(*t);
    s->copy(here.data(), there.data(), 1000 * sizeof(std::int64_t));
  }
  copy(host.view(), buffer_view<const std::int64_t>(here), *s);
  gpu->run(wait_for(s.get()));
  EXPECT_EQ(host.data()[999], 200);
  gpu->run(wait_for(t.get()));
}

INSTANTIATE_TEST_SUITE_P(completion, cuda_stream,
                         testing::Values(completion_mode::flag, completion_mode::event, completion_mode::callback,
                                         completion_mode::sync),
                         [](const auto& mode) { return to_string(mode.param); });

}  // namespace

}  // namespace cuda_stream_test
