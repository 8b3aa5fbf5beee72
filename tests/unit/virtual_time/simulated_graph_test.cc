// Graphs of simulated GPUs: what runs at once, and what comes after what.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/base/build_config.h>
#include <imbrex/clock.h>
#include <imbrex/imbrex.h>

#include <memory>
#include <string>

#include "unit/virtual_time/quiet_machine.h"

namespace simulated_graph_test {

#if IMBREX_HAVE_TOML

namespace {

using namespace imbrex_test;

constexpr std::size_t pass_bytes = 100'000'000;  // 1000 us of a GPU

/// A pass on each of two streams, of one GPU or of two; the second one behind the first, or beside it.
ix::task<int> run_passes(ix::runtime& rt, int second_gpu, bool one_after_the_other, double* took) {
  const auto a = rt.gpu(0).make_stream(ix::stream_priority::low, "a");
  const auto b = rt.gpu(second_gpu).make_stream(ix::stream_priority::low, "b");
  ix::buffer<std::byte> of_a(rt.gpu(0), pass_bytes), of_b(rt.gpu(second_gpu), pass_bytes);
  const auto enqueue = [&] {
    const ix::event at_first = a->record();
    a->fill(of_a.data(), 1, pass_bytes);
    b->wait(one_after_the_other ? a->record() : at_first);
    b->fill(of_b.data(), 2, pass_bytes);
    a->wait(b->record());
    a->fill(of_a.data(), 1, 100);
  };
  const auto both = a->capture(enqueue);
  if (both->num_operations() != 3) co_return 2;
  const auto begin = ix::clock::now();
  a->run(*both);
  a->run(*both);
  co_await a->done();
  *took = us(ix::clock::now() - begin) / 2;
  co_return 0;
}

double time_of(int second_gpu, bool one_after_the_other) {
  double took = 0;
  const outcome o = run_on_quiet_machine({"--imbrex-device=cuda", "--imbrex-gpus=2", "--imbrex-pes=2"}, &run_passes,
                                         second_gpu, one_after_the_other, &took);
  EXPECT_EQ(o.code, 0) << o.errors;
  return took;
}

TEST(simulated_graph, runs_on_several_gpus_at_once) {
  EXPECT_GT(time_of(1, false), 1000);
  EXPECT_LT(time_of(1, false), 1030);
}

TEST(simulated_graph, keeps_the_order_of_events) {
  EXPECT_GT(time_of(1, true), 2000);
  EXPECT_LT(time_of(1, true), 2040);
}

TEST(simulated_graph, shares_a_gpu_among_what_runs_at_once) {
  EXPECT_GT(time_of(0, false), 2000);
  EXPECT_LT(time_of(0, false), 2030);
}

/// Kernels of few threads beside each other: passes of 16 B do not fill a GPU, and take least times only.
ix::task<int> run_small_ones(ix::runtime& rt, double* took) {
  const auto a = rt.gpu(0).make_stream(ix::stream_priority::low, "a");
  ix::buffer<std::byte> bytes(rt.gpu(0), 1000);
  std::vector<std::unique_ptr<ix::stream>> others;
  for (int i = 0; i < 6; ++i) others.push_back(rt.gpu(0).make_stream(ix::stream_priority::high, "other"));
  const auto six_and_one = a->capture([&] {
    const ix::event begin = a->record();
    for (const auto& s : others) {
      s->wait(begin);
      s->fill(bytes.data(), 1, 1);
      a->wait(s->record());
    }
    a->fill(bytes.data(), 1, 1);
  });
  const auto begin = ix::clock::now();
  a->run(*six_and_one);
  co_await a->done();
  *took = us(ix::clock::now() - begin);
  co_return 0;
}

TEST(simulated_graph, branches_do_not_wait_for_each_other) {
  double took = 0;
  const outcome o =
      run_on_quiet_machine({"--imbrex-device=cuda", "--imbrex-gpus=2", "--imbrex-pes=2"}, &run_small_ones, &took);
  EXPECT_EQ(o.code, 0) << o.errors;
  // 5 us for the launch, 1 until it begins, 1 and 1 for two nodes behind each other, about 1 to notice.
  EXPECT_LT(took, 10);
}

}  // namespace

#endif

}  // namespace simulated_graph_test
