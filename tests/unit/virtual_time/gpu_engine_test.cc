#include "imbrex/virtual_time/gpu/gpu_engine.h"

#include <gtest/gtest.h>

#include "imbrex/virtual_time/gpu/kernel_model.h"

namespace gpu_engine_test {

namespace {

using imbrex::gpu_engine;
using imbrex::kernel_demand;
using imbrex::simulation;
using imbrex::stream_priority;

struct kernel : gpu_engine::customer {
  explicit kernel(simulation& s) : all(s) {
    ended = [](gpu_engine::customer& c) {
      auto& self = static_cast<kernel&>(c);
      self.ended_at = self.all.now();
    };
  }
  simulation& all;
  std::int64_t ended_at = -1;
};

/// Kernels that begin at some time, and when each of them ends.
struct bench {
  simulation all{1};
  gpu_engine engine;
  std::vector<std::unique_ptr<kernel>> kernels;

  explicit bench(std::size_t most = 128) : engine(all, most) {}
  void begin(std::int64_t at, double work_ns, double share, stream_priority p = stream_priority::low) {
    begin(at, kernel_demand{0, work_ns, share}, p);
  }
  void begin(std::int64_t at, const kernel_demand& d, stream_priority p = stream_priority::low) {
    kernels.push_back(std::make_unique<kernel>(all));
    all.call_at(at, [this, d, p, k = kernels.back().get()] { engine.begin(d, p, *k); });
  }
  std::vector<std::int64_t> ends() {
    all.run();
    std::vector<std::int64_t> result;
    for (const auto& k : kernels) result.push_back(k->ended_at);
    return result;
  }
};
using times = std::vector<std::int64_t>;

TEST(gpu_engine, a_kernel_that_fills_the_gpu_takes_its_work) {
  bench b;
  b.begin(100, 1000, 1);
  EXPECT_EQ(b.ends(), (times{1100}));
  EXPECT_EQ(b.engine.busy_ns(), 1000);
}

TEST(gpu_engine, one_of_few_threads_takes_longer) {
  bench b;
  b.begin(0, 1000, 0.25);
  EXPECT_EQ(b.ends(), (times{4000}));
}

TEST(gpu_engine, two_that_fill_it_share_it) {
  bench b;
  b.begin(0, 1000, 1);
  b.begin(500, 1000, 1);
  EXPECT_EQ(b.ends(), (times{1500, 2000}));
}

TEST(gpu_engine, small_ones_run_beside_each_other) {
  bench b;
  for (int i = 0; i < 4; ++i) b.begin(0, 1000, 0.25);
  EXPECT_EQ(b.ends(), (times{4000, 4000, 4000, 4000}));
}

TEST(gpu_engine, urgent_streams_go_first) {
  bench b;
  b.begin(0, 1000, 1);
  b.begin(100, 500, 1, stream_priority::high);
  const times t = b.ends();
  EXPECT_EQ(t[1], 600);
  EXPECT_GE(t[0], 1480);
  EXPECT_LE(t[0], 1500);
}

/// A kernel of so many GPUs full of blocks that take 1000 ns each.
kernel_demand rounds(double n) { return {0, 1000 * n, std::min(n, 1.0), 1000}; }

TEST(gpu_engine, long_blocks_go_in_whole_rounds) {
  bench b;
  b.begin(0, rounds(2.25));
  EXPECT_EQ(b.ends(), (times{3000}));
}

TEST(gpu_engine, long_blocks_of_two_kernels_fill_it_in_turns) {
  bench b;
  b.begin(0, rounds(0.75));
  b.begin(0, rounds(0.75));  // a quarter at once, the rest after the first one
  EXPECT_EQ(b.ends(), (times{1000, 2000}));
}

TEST(gpu_engine, urgent_ones_wait_for_blocks_that_run_and_go_before_those_that_wait) {
  bench b;
  b.begin(0, rounds(2));
  b.begin(100, 50, 0.5, stream_priority::high);
  b.begin(100, rounds(0.25), stream_priority::high);
  const times t = b.ends();
  EXPECT_EQ(t[1], 1100);
  EXPECT_EQ(t[2], 2000);
  EXPECT_EQ(t[0], 3000);  // what they left, and then what they had
}

TEST(gpu_engine, short_ones_have_what_long_blocks_leave) {
  bench b;
  b.begin(0, rounds(0.75));
  b.begin(0, 500, 1);
  EXPECT_EQ(b.ends(), (times{1000, 1250}));  // a quarter until then
}

TEST(gpu_engine, no_more_run_at_once_than_may) {
  bench b(2);
  for (int i = 0; i < 3; ++i) b.begin(0, 100, 0.1);
  EXPECT_EQ(b.ends(), (times{1000, 1000, 2000}));
}

TEST(kernel_model, takes_what_was_said_before_what_is_known_before_its_threads) {
  imbrex::machine m;
  m.gpu.memory_gbs = 100;
  m.gpu.tflops = 1;
  m.gpu.filling_threads = 1000;
  m.kernels["known"] = {0, 8, 0, 0.5};
  simulation all(1);
  const imbrex::launch_shape shape{{10}, {100}};
  const auto work = [&](const char* name, const imbrex::kernel_cost& c) {
    return demand_of(m, all, name, shape, c).work_ns;
  };
  EXPECT_DOUBLE_EQ(work("unknown", {}), 240);         // 24 bytes for each of 1000 threads
  EXPECT_DOUBLE_EQ(work("known", {}), 160);           // 8, at half the rate
  EXPECT_DOUBLE_EQ(work("unknown", {1e5, 0}), 1000);  // what was said
  EXPECT_DOUBLE_EQ(work("unknown", {1, 1e6}), 1000);  // bound by arithmetic
  EXPECT_DOUBLE_EQ(demand_of(m, all, "unknown", {{1}, {100}}, {}).share, 0.1);
}

TEST(kernel_model, blocks_that_share_memory_go_in_rounds_where_they_compute) {
  imbrex::machine m;
  m.gpu.memory_gbs = 100;
  m.gpu.tflops = 1;
  m.gpu.multiprocessors = 10;
  m.gpu.shared_kb = 100;
  simulation all(1);
  const auto demand = [&](unsigned blocks, std::size_t kb, const imbrex::kernel_cost& c) {
    return demand_of(m, all, "forces", {{blocks}, {256}, kb * 1024}, c);
  };
  // 24 KB and what the driver takes: four on each, 40 at once.
  EXPECT_DOUBLE_EQ(demand(40, 24, {.flops = 4e6}).round_ns, 4000);
  EXPECT_DOUBLE_EQ(demand(50, 24, {.flops = 5e6}).round_ns, 4000);
  EXPECT_DOUBLE_EQ(demand(50, 24, {.flops = 5e6}).share, 1);
  EXPECT_DOUBLE_EQ(demand(20, 24, {.flops = 2e6}).round_ns, 4000);
  EXPECT_DOUBLE_EQ(demand(20, 24, {.flops = 2e6}).share, 0.5);
  EXPECT_DOUBLE_EQ(demand(50, 24, {.bytes = 5e5}).round_ns, 0);  // memory is the limit
  m.gpu.shared_kb = 0;
  EXPECT_DOUBLE_EQ(demand(50, 24, {.flops = 5e6}).round_ns, 0);  // nobody knows
}

}  // namespace

}  // namespace gpu_engine_test
