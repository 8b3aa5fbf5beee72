// A stream that waits for a function of the host, and calls of the driver that wait for the stream: the PE that must
// run the function is the one that would wait.
#include <cstring>
#include <stdexcept>

#include "fake_gpu_fixture.h"
#include "imbrex/base/error.h"

namespace gates_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

task<> wait_for(stream* s) { co_await s->done(); }

struct gates : fake_gpus {
  void SetUp() override { open({.gpus = 2, .bytes = std::size_t{600} << 20}); }
  /// What follows on `s` waits for a function that this PE has not run.
  void close_gate(cuda_stream& s) {
    auto go = std::make_shared<std::atomic<bool>>(false);
    run_until_set(s, go);
    s.call("the function", [this] { ++ran; });
    *go = true;
    ASSERT_EQ(ran, 0);
  }
  int ran = 0;
};

TEST_F(gates, copies_of_ordinary_memory_do_not_wait_for_the_pe_itself) {
  cuda_stream& s = make(0, "a stream");
  std::vector<unsigned char> from(100'000), to(100'000);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7);
  buffer<unsigned char> there(device(0), from.size());
  close_gate(s);
  s.copy(there.data(), from.data(), from.size());
  s.copy(to.data(), there.data(), to.size());
  bool seen = false;
  s.then("look", [&] { seen = to == from; });
  gpu->run(wait_for(&s));
  EXPECT_EQ(ran, 1);
  EXPECT_TRUE(seen);
  EXPECT_EQ(to, from);
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

TEST_F(gates, a_function_that_throws_is_reported_whether_the_stream_is_busy_or_not) {
  cuda_stream& s = make(0, "a stream");
  EXPECT_NO_THROW(s.call("look", [] { throw std::runtime_error("the lake is dry"); }));
  EXPECT_THAT(reported(), testing::ElementsAre("look in a stream threw: the lake is dry"));
  auto go = std::make_shared<std::atomic<bool>>(false);
  run_until_set(s, go);
  s.call("look again", [] { throw std::runtime_error("it is dry still"); });
  s.then("go on", [this] { ++ran; });
  *go = true;
  gpu->run(wait_for(&s));
  EXPECT_THAT(reported(), testing::Contains("look again in a stream threw: it is dry still"));
  EXPECT_EQ(ran, 1);
  reported().clear();
}

TEST_F(gates, ordinary_memory_is_copied_as_the_function_leaves_it) {
  cuda_stream& s = make(0, "a stream");
  std::vector<int> from(10'000'000, 1), to(from.size(), 0);  // more than one piece
  buffer<int> there(device(0), from.size());
  auto go = std::make_shared<std::atomic<bool>>(false);
  run_until_set(s, go);
  s.call("fill", [&] { std::fill(from.begin(), from.end(), 2); });
  s.copy(there.data(), from.data(), from.size() * sizeof(int));
  s.copy(to.data(), there.data(), to.size() * sizeof(int));
  *go = true;
  gpu->run(wait_for(&s));
  EXPECT_EQ(to, from);
  EXPECT_EQ(to[123], 2);
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
  EXPECT_LE(gpu->machine.pinned().used().high_water, 16U << 20) << "pinned memory is bounded";
}

// NVIDIA's driver waits for the stream with these, pinned or not.
TEST_F(gates, copies_within_the_host_do_not_wait_for_the_pe_itself) {
  cuda_stream& s = make(0, "a stream");
  buffer<int> from(device(0), 100, memory_kind::pinned), to(device(0), 100, memory_kind::pinned);
  std::vector<int> ordinary(100);
  std::fill(from.data(), from.data() + 100, 3);
  std::fill(to.data(), to.data() + 100, 0);
  close_gate(s);
  s.copy(to.data(), from.data(), 400);
  s.copy(ordinary.data(), to.data(), 400);
  EXPECT_EQ(to.data()[99], 0);
  gpu->run(wait_for(&s));
  EXPECT_EQ(to.data()[99], 3);
  EXPECT_EQ(ordinary[99], 3);
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

TEST_F(gates, pinned_memory_is_copied_by_the_driver) {
  cuda_stream& s = make(0, "a stream");
  buffer<int> host(device(0), 100, memory_kind::pinned), there(device(0), 100);
  close_gate(s);
  const auto used = gpu->machine.pinned().used().allocations;
  s.copy(there.data(), host.data(), 400);
  EXPECT_EQ(gpu->machine.pinned().used().allocations, used);
  gpu->run(wait_for(&s));
}

TEST_F(gates, memory_under_pressure_is_refused_and_not_waited_for) {
  cuda_stream& s = make(0, "a stream of a test");
  {
    const buffer<std::byte> was(device(0), std::size_t{200} << 20);
  }  // a slab that is free now
  close_gate(s);
  try {
    const buffer<std::byte> more(device(0), std::size_t{500} << 20);
    FAIL() << "there is no room while the slab is kept";
  } catch (const out_of_memory& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("the function"));
    EXPECT_THAT(e.what(), testing::HasSubstr("a stream of a test"));
  }
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
  gpu->run(wait_for(&s));
  const buffer<std::byte> more(device(0), std::size_t{500} << 20);  // now the slab may be given back
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

TEST_F(gates, unpooled_memory_is_freed_later) {
  cuda_stream& s = make(0, "a stream");
  void* const memory = device(0).allocate_unpooled(1000);
  close_gate(s);
  device(0).free_unpooled(memory);
  EXPECT_EQ(fake_cuda::calls_of("cudaFree"), 0);
  gpu->run(wait_for(&s));
  device(0).free_unpooled(device(0).allocate_unpooled(1000));
  EXPECT_EQ(fake_cuda::calls_of("cudaFree"), 2);
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

TEST_F(gates, reading_at_once_behind_one_is_a_named_error) {
  cuda_stream& s = make(0, "a stream of a test");
  buffer<int> there(device(0), 1);
  close_gate(s);
  s.fill(there.data(), 1, sizeof(int));
  int seen = 0;
  try {
    device(0).read_now(&seen, there.data(), sizeof seen, s.record());
    FAIL() << "nothing was thrown";
  } catch (const device_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("the function"));
    EXPECT_THAT(e.what(), testing::HasSubstr("a stream of a test"));
  }
  gpu->run(wait_for(&s));
  device(0).read_now(&seen, there.data(), sizeof seen, s.record());
  EXPECT_EQ(seen, 0x01010101);
  EXPECT_THAT(fake_cuda::blocked_calls(), testing::IsEmpty());
}

TEST_F(gates, errors_of_asking_are_not_left_behind) {
  for (const completion_mode mode : {completion_mode::event, completion_mode::flag}) {
    streams.clear();
    gpu.reset();
    open({}, mode);
    cuda_stream& s = make(0, "a stream");
    auto go = std::make_shared<std::atomic<bool>>(false);
    run_until_set(s, go);
    const event e = s.record();
    gpu->completion->ensure_noticed();
    EXPECT_FALSE(s.idle());
    EXPECT_FALSE(e.complete());
    gpu->completion->poll();
    EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "a user's own check would find it";
    *go = true;
    gpu->run(wait_for(&s));
  }
}

}  // namespace

}  // namespace gates_test
