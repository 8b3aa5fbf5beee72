#include <gtest/gtest.h>

#include <cmath>

#include "imbrex/base/clock.h"
#include "imbrex/hetero/placement/shortest_finish.h"
#include "unit/hetero/hetero_fixture.h"

namespace learnt_cost_test {

// What is learnt of a task is how long it runs, however long it has to wait for its turn.
using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::int64_t duration_ns = 200'000;

void take_time() {
  const std::int64_t until = now_ns() + duration_ns;
  while (now_ns() < until) {
  }
}

/// The mean of what such a task took, of so many that are submitted at once, in units of its duration.
template <class F>
double learnt_of(int num_tasks, F what) {
  bare_pe pe;
  host_memory memory;
  host_device host{pe.queue, 0, memory}, dev{pe.queue, 0, memory};
  hetero_options o;
  o.device_bytes = 1 << 20;
  auto policy = std::make_unique<shortest_finish>();
  const shortest_finish* const learner = policy.get();
  hetero_domain domain(pe.queue, host, {&dev}, o, std::move(policy));
  std::vector<hetero_object<double>> all;
  for (int i = 0; i < num_tasks; ++i) {
    all.emplace_back(domain, 8);
    submit(domain, {.name = "it"}, what, write(all.back()));
  }
  pe.run();
  const auto& known = const_cast<shortest_finish*>(learner)->costs().all();
  EXPECT_EQ(known.size(), 1);
  EXPECT_EQ(known.begin()->second.samples, static_cast<std::uint64_t>(num_tasks));
  return known.begin()->second.nanoseconds / static_cast<double>(duration_ns);
}

// Among 64 that wait for each other the mean wait is many times the duration; another program may take the processor
// from a task now and then.
TEST(learnt_cost, of_a_device_s_task_is_not_its_wait) {
  auto on_device = [](stream& s, std::span<double>) { s.call("it", [] { take_time(); }); };
  EXPECT_GE(learnt_of(1, on_device), 1);
  const double among_many = learnt_of(64, on_device);
  EXPECT_GE(among_many, 1);
  EXPECT_LE(among_many, 8);
}

TEST(learnt_cost, of_a_task_of_the_host_is_not_its_wait) {
  auto on_host = [](std::span<double>) { take_time(); };
  const double among_many = learnt_of(64, on_host);
  EXPECT_GE(among_many, 1);
  EXPECT_LE(among_many, 8);
}

TEST(learnt_cost, of_a_size_that_has_not_run_is_told_from_others) {
  cost_model m;
  const auto at = [](const char* name, int size, const char* place) { return cost_model::key{name, size, place}; };
  EXPECT_LT(m.estimate(at("gemm", 20, "host")), 0);
  m.learn(at("gemm", 20, "host"), 1000);
  m.learn(at("gemm", 20, "GPU"), 10);
  EXPECT_EQ(m.estimate(at("gemm", 20, "host")), 1000);
  EXPECT_NEAR(m.estimate(at("gemm", 23, "host")), 8000, 1e-6);
  EXPECT_NEAR(m.estimate(at("gemm", 18, "host")), 250, 1e-6);
  EXPECT_LT(m.estimate(at("gem", 20, "host")), 0);
  EXPECT_LT(m.estimate(at("gemm", 20, "another")), 0);
  for (int size = 21; size <= 24; ++size) m.learn(at("gemm", size, "host"), 1000 * std::exp2(1.5 * (size - 20)));
  EXPECT_NEAR(m.estimate(at("gemm", 30, "host")), 1000 * std::exp2(15.0), 1e-3);
  EXPECT_NEAR(m.estimate(at("gemm", 10, "host")), 1000 * std::exp2(-15.0), 1e-6);
}

}  // namespace

}  // namespace learnt_cost_test
