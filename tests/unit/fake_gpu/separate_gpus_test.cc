// GPUs of one process that do not reach each other's memory.
#include "fake_gpu_fixture.h"
#include "imbrex/device/cuda/cuda_event.h"

namespace separate_gpus_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

task<> wait_for(stream* s) { co_await s->done(); }

struct separate_gpus : fake_gpus {};

TEST_F(separate_gpus, wait_for_each_other_by_events) {
  fake_cuda::start({.gpus = 3});
  fake_cuda::separate(0, 1);
  fake_cuda::separate(1, 0);  // GPU 2 reaches both
  open_started();
  EXPECT_FALSE(device(0).reaches(device(1)));
  EXPECT_TRUE(device(2).reaches(device(1)));
  cuda_stream &s = make(0, "source"), &t = make(1, "reader");
  buffer<int> from(device(0), 1000), to(device(1), 1000), back(device(1), 1000, memory_kind::pinned);
  for (int round = 0; round < 20; ++round) {
    s.note("kernel");
    fake_cuda::launch(s.native(), [at = from.data(), round] { std::fill_n(at, 1000, round); });
    t.wait(s.record_for_others());
    t.copy(to.data(), from.data(), 4000);
    t.copy(back.data(), to.data(), 4000);
    s.wait(t.record_for_others());
    s.pull(t.record_for_others(), from.data(), from.data(), 0);
    gpu->run(wait_for(&t));
    EXPECT_EQ(back.data()[999], round);
  }
  t.pull(s.record_for_others(), to.data(), from.data(), 4000);  // asks, and copies by the driver
  gpu->run(wait_for(&t));
  gpu->run(wait_for(&s));
}

TEST_F(separate_gpus, pull_from_those_that_they_reach) {
  fake_cuda::start({.gpus = 2});
  fake_cuda::separate(1, 0);  // one way only
  open_started();
  EXPECT_TRUE(device(0).reaches(device(1)));
  EXPECT_FALSE(device(1).reaches(device(0)));
  cuda_stream &s = make(0, "zero"), &t = make(1, "one");
  buffer<int> at_0(device(0), 1000), at_1(device(1), 1000);
  for (int round = 0; round < 10; ++round) {
    s.pull(t.record_for_others(), at_0.data(), at_1.data(), 4000);
    t.pull(s.record_for_others(), at_1.data(), at_0.data(), 4000);
  }
  gpu->run(wait_for(&t));
  gpu->run(wait_for(&s));
}

}  // namespace

}  // namespace separate_gpus_test
