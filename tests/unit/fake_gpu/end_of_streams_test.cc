// How streams end that wait for others: at the end of a job, and when they are destroyed before.
#include <thread>

#include "fake_gpu_fixture.h"
#include "imbrex/device/cuda/cuda_event.h"

namespace end_of_streams_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

task<> wait_for(stream* s) { co_await s->done(); }

struct end_of_streams : fake_gpus {
  void SetUp() override { open(); }
  /// A point of GPU 0 that never comes, as that of a process that has died.
  event never(int seen_from) {
    const cuda_word w = gpu->machine.gpu(0).take_word();
    const cuda_word_point p{w.at, w.last + 1'000'000, gpu->machine.gpu(0).identity()};
    return event(
        std::make_shared<cuda_event>(gpu->machine.gpu(seen_from), stream_position(), cuda_event::by_word_only{p}));
  }
  /// As all PEs of a job do.
  bool end(std::int64_t limit_ns = 1'000'000'000) {
    gpu->completion->let_pass();
    return gpu->completion->drain(now_ns() + limit_ns);
  }
};

TEST_F(end_of_streams, wait_for_none_of_the_pe_itself) {
  cuda_stream &first = make(0, "first"), &second = make(0, "second");
  auto go = std::make_shared<std::atomic<bool>>(false);
  run_until_set(first, go);  // and so is looked at first
  run_until_set(second, go);
  second.call("never run", [] {});
  first.after(second);
  *go = true;
  EXPECT_TRUE(end());
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

TEST_F(end_of_streams, wait_for_no_word_of_a_dead_process_in_a_kernel) {
  cuda_stream& s = make(1, "a stream");
  buffer<std::byte> from(device(0), 100), to(device(1), 100);
  s.pull(never(1), to.data(), from.data(), 100);
  EXPECT_TRUE(end());
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

TEST_F(end_of_streams, wait_for_no_word_of_a_dead_process_in_the_driver) {
  cuda_stream& s = make(1, "a stream");
  s.wait(never(1));
  EXPECT_TRUE(end());
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

TEST_F(end_of_streams, wait_for_no_word_of_a_dead_process_behind_large_data) {
  cuda_stream& s = make(1, "a stream");
  buffer<std::byte> from(device(0), 40 << 20), to(device(1), 40 << 20);
  s.pull(never(1), to.data(), from.data(), from.size());
  EXPECT_TRUE(end());
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

TEST_F(end_of_streams, wait_no_longer_than_they_are_told) {
  cuda_stream& s = make(0, "a stream");
  auto never_set = std::make_shared<std::atomic<bool>>(false);
  run_until_set(s, never_set);  // a kernel without an end
  EXPECT_FALSE(end(50'000'000));
  *never_set = true;
}

TEST_F(end_of_streams, that_are_destroyed_wait_for_what_they_pull) {
  cuda_stream &s = make(0, "source"), &t = make(1, "to be destroyed"), &u = make(0, "reader");
  buffer<int> from(device(0), 1000), to(device(1), 1000), read(device(0), 1000, memory_kind::pinned);
  std::fill_n(from.data(), 1000, -1);  // not there yet
  auto go = std::make_shared<std::atomic<bool>>(false);
  run_until_set(s, go, [&] { std::fill_n(from.data(), 1000, 42); });
  t.pull(s.record_for_others(), to.data(), from.data(), 4000);
  const event pulled = t.record_for_others();
  u.pull(pulled, read.data(), to.data(), 4000);
  std::thread later([go] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    *go = true;
  });
  streams.erase(streams.begin() + 1);  // `t`
  later.join();
  gpu->run(wait_for(&u));
  EXPECT_EQ(read.data()[0], 42) << "what never came was published";
  EXPECT_EQ(read.data()[999], 42);
  EXPECT_THAT(reported(), testing::IsEmpty());
}

TEST_F(end_of_streams, that_are_destroyed_behind_a_function_of_the_pe_are_named) {
  cuda_stream &s = make(0, "a source"), &t = make(1, "a reader");
  auto go = std::make_shared<std::atomic<bool>>(false);
  run_until_set(s, go);
  s.call("the function", [] {});
  t.wait(s.record());
  t.fill(nullptr, 0, 0);
  *go = true;
  streams.pop_back();  // `t`, which only this PE could let go on
  ASSERT_EQ(reported().size(), 1U);
  EXPECT_THAT(reported()[0], testing::HasSubstr("a reader"));
  EXPECT_THAT(reported()[0], testing::HasSubstr("the function"));
  EXPECT_THAT(reported()[0], testing::HasSubstr("a source"));
}

TEST_F(end_of_streams, that_are_destroyed_drop_their_own_functions) {
  cuda_stream& s = make(0, "a stream");
  auto go = std::make_shared<std::atomic<bool>>(false);
  run_until_set(s, go);
  bool ran = false;
  s.call("the function", [&] { ran = true; });
  *go = true;
  streams.clear();
  EXPECT_FALSE(ran);
  EXPECT_THAT(reported(), testing::IsEmpty());
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

}  // namespace

}  // namespace end_of_streams_test
