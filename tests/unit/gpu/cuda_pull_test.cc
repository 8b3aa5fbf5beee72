#include <numeric>

#include "gpu_fixture.h"
#include "imbrex/base/clock.h"
#include "imbrex/device/copy.h"
#include "imbrex/device/cuda/cuda_event.h"
#include "imbrex/device/cuda/cuda_stream.h"
#include "test_kernels.h"

namespace cuda_pull_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

task<> wait_for(stream* s) { co_await s->done(); }

struct two_gpus : testing::TestWithParam<completion_mode> {
  void SetUp() override {
    SKIP_WITHOUT_GPU(2);
    gpu = std::make_unique<gpu_pe>(GetParam(), std::vector<int>{0, 1});
    s = here().make_stream(stream_priority::low, "a stream here");
    t = there().make_stream(stream_priority::high, "a stream there");
  }
  void TearDown() override {
    s.reset();
    t.reset();
  }
  device& here() { return *gpu->devices[0]; }
  device& there() { return *gpu->devices[1]; }

  std::unique_ptr<gpu_pe> gpu;
  std::unique_ptr<stream> s, t;
};

TEST_P(two_gpus, pull_from_each_other_in_stream_order) {
  constexpr std::size_t n = 100'000;
  buffer<std::int64_t> a(here(), n), b(there(), n), host(here(), n, memory_kind::pinned);
  s->fill(a.data(), 0, n * sizeof(std::int64_t));
  for (int i = 0; i < 100; ++i) {
    multiply_add(*s, a.data(), n, 1, 1);
    const event of_s = i % 2 == 0 ? s->record_for_others() : s->record();
    t->pull(of_s, b.data(), a.data(), n * sizeof(std::int64_t));
    multiply_add(*t, b.data(), n, 1, 1);
    const event of_t = t->record_for_others();
    s->pull(of_t, a.data(), b.data(), n * sizeof(std::int64_t));
  }
  copy(host.view(), buffer_view<const std::int64_t>(a), *s);
  gpu->run(wait_for(s.get()));
  gpu->run(wait_for(t.get()));
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(host.data()[i], 200) << i;
}

TEST_P(two_gpus, pull_every_size_and_alignment) {
  constexpr std::size_t largest = 300'000;
  buffer<unsigned char> from(here(), largest + 64), to(there(), largest + 64);
  buffer<unsigned char> in(here(), largest + 64, memory_kind::pinned), out(there(), largest + 64, memory_kind::pinned);
  for (std::size_t i = 0; i < in.size(); ++i) in.data()[i] = static_cast<unsigned char>(i * 7 % 251 + 1);
  copy(from.view(), buffer_view<const unsigned char>(in), *s);
  for (const std::size_t size : {0, 1, 3, 4, 8, 15, 16, 100, 4095, 4096, 4097, 65'536, 131'076, 300'000}) {
    for (const std::size_t shift : {0, 1, 4, 8}) {
      t->fill(to.data(), 0, to.size());
      t->pull(s->record_for_others(), to.data() + shift, from.data() + shift, size);
      copy(out.view(), buffer_view<const unsigned char>(to), *t);
      gpu->run(wait_for(t.get()));
      for (std::size_t i = 0; i < out.size(); ++i) {
        const bool inside = i >= shift && i < shift + size;
        ASSERT_EQ(out.data()[i], inside ? in.data()[i] : 0) << "byte " << i << " of " << size << " at " << shift;
      }
    }
  }
}

TEST_P(two_gpus, many_streams_wait_at_once) {
  constexpr int streams = 30;
  std::vector<std::unique_ptr<stream>> readers;
  buffer<std::int64_t> from(here(), 1), to(there(), streams), host(there(), streams, memory_kind::pinned);
  buffer<int> done(here(), 1, memory_kind::pinned);
  s->fill(from.data(), 0, sizeof(std::int64_t));
  take_time(*s, 3000, done.data());
  multiply_add(*s, from.data(), 1, 1, 42);
  for (int i = 0; i < streams; ++i) {
    readers.push_back(there().make_stream(stream_priority::high, "a reader"));
    readers.back()->pull(s->record_for_others(), to.data() + i, from.data(), sizeof(std::int64_t));
    t->after(*readers.back());
  }
  copy(host.view(), buffer_view<const std::int64_t>(to), *t);
  gpu->run(wait_for(t.get()));
  for (int i = 0; i < streams; ++i) EXPECT_EQ(host.data()[i], 42);
  for (const auto& r : readers) gpu->run(wait_for(r.get()));
}

TEST_P(two_gpus, tell_whether_a_point_of_another_process_is_complete) {
  auto& of_s = static_cast<cuda_stream&>(*s);
  const event reached = s->record_for_others();
  gpu->run(wait_for(s.get()));
  cuda_word_point point = static_cast<const cuda_event&>(*reached.state()).word();
  EXPECT_TRUE(cuda_event(of_s.gpu(), stream_position(), cuda_event::by_word_only{point}).complete());
  ++point.value;
  EXPECT_FALSE(cuda_event(of_s.gpu(), stream_position(), cuda_event::by_word_only{point}).complete());
}

TEST_P(two_gpus, the_end_of_a_job_waits_for_no_other_process) {
  if (GetParam() != completion_mode::flag) GTEST_SKIP() << "only with flags does a kernel wait";
  const event reached = s->record_for_others();
  cuda_word_point never = static_cast<const cuda_event&>(*reached.state()).word();
  never.value += 1'000'000;
  const event point(std::make_shared<cuda_event>(static_cast<cuda_stream&>(*t).gpu(), stream_position(),
                                                 cuda_event::by_word_only{never}));
  buffer<std::byte> from(here(), 100), to(there(), 100);
  t->pull(point, to.data(), from.data(), 100);
  gpu->completion->let_pass();
  EXPECT_TRUE(gpu->completion->drain(now_ns() + 5'000'000'000));
  EXPECT_TRUE(t->idle());
}

TEST_P(two_gpus, the_end_of_a_job_waits_for_no_word_that_never_comes) {
  const event reached = s->record_for_others();
  cuda_word_point never = static_cast<const cuda_event&>(*reached.state()).word();
  never.value += 1'000'000;
  const event point(std::make_shared<cuda_event>(static_cast<cuda_stream&>(*t).gpu(), stream_position(),
                                                 cuda_event::by_word_only{never}));
  if (GetParam() == completion_mode::sync) GTEST_SKIP() << "sync would wait for it at once";
  t->wait(point);
  gpu->completion->let_pass();
  EXPECT_TRUE(gpu->completion->drain(now_ns() + 5'000'000'000));
  EXPECT_TRUE(t->idle());
}

TEST_P(two_gpus, a_stream_that_is_destroyed_has_pulled_what_others_read) {
  constexpr std::size_t n = 1000;
  buffer<std::int64_t> a(here(), n), b(there(), n), host(here(), n, memory_kind::pinned);
  buffer<int> done(here(), 1, memory_kind::pinned);
  s->fill(a.data(), 0xff, n * sizeof(std::int64_t));
  take_time(*s, 50'000, done.data());
  multiply_add(*s, a.data(), n, 0, 42);
  t->pull(s->record_for_others(), b.data(), a.data(), n * sizeof(std::int64_t));
  auto u = here().make_stream(stream_priority::low, "a reader");
  u->pull(t->record_for_others(), host.data(), b.data(), n * sizeof(std::int64_t));
  t.reset();
  gpu->run(wait_for(u.get()));
  gpu->run(wait_for(s.get()));
  for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(host.data()[i], 42) << i;
}

TEST_P(two_gpus, ordinary_memory_is_copied_behind_a_function_of_this_pe) {
  buffer<int> done(here(), 1, memory_kind::pinned);
  std::vector<int> from(1'000'000, 7), to(from.size(), 0);
  buffer<int> a(here(), from.size());
  take_time(*s, 20'000, done.data());
  s->call("function", [&] { from.front() = 8; });
  s->copy(a.data(), from.data(), from.size() * sizeof(int));
  s->copy(to.data(), a.data(), to.size() * sizeof(int));
  gpu->run(wait_for(s.get()));
  EXPECT_EQ(to, from);
  EXPECT_EQ(to.front(), 8);
}

INSTANTIATE_TEST_SUITE_P(completion, two_gpus,
                         testing::Values(completion_mode::flag, completion_mode::event, completion_mode::callback,
                                         completion_mode::sync),
                         [](const auto& mode) { return to_string(mode.param); });

}  // namespace

}  // namespace cuda_pull_test
