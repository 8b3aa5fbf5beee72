#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "imbrex/base/error.h"
#include "imbrex/device/host/host_device.h"
#include "imbrex/device/kernel/kernel_dialect.h"
#include "unit/async/bare_pe.h"
#include "unit/kernel/kernel_cases.h"
// After the dialect.
#include "unit/kernel/cases.hk"
#include "unit/kernel/matrix.hk"

namespace kernel_test {

using namespace imbrex;
using namespace imbrex_test;
using testing::HasSubstr;

IX_INLINE_KERNEL(halve, (int n, IX_GLOBAL double* x), if (i < n) x[i] /= 2);
IX_INLINE_KERNEL_BELOW(add_places, (int n, IX_GLOBAL double* x), 2 * n, double a = i, b = 1; x[i] += a * b);

namespace {

static_assert(std::is_same_v<decltype(saxpy), const kernel<void(int, float, const float*, float*)>>);
static_assert(std::is_same_v<decltype(scale_below), const kernel<void(int, double, double*)>>, "without restrict");
static_assert(decltype(saxpy)::parameters[0].what == kernel_argument::kind::value);
static_assert(decltype(saxpy)::parameters[2].what == kernel_argument::kind::read);
static_assert(decltype(saxpy)::parameters[3].what == kernel_argument::kind::read_write);
static_assert(decltype(saxpy)::parameters[3].bytes == sizeof(float));
static_assert(decltype(seven_points)::parameters[0].bytes == sizeof(extents));
static_assert(detail::kernel_argument_for<float*, const float*> && detail::kernel_argument_for<int, double>);
static_assert(!detail::kernel_argument_for<const float*, float*> && !detail::kernel_argument_for<double*, float*>);
static_assert(!detail::kernel_argument_for<double, int> && !detail::kernel_argument_for<int, float*>);

const kernel_case& find(const std::vector<kernel_case>& cases, const kernel_source& k) {
  return *std::find_if(cases.rbegin(), cases.rend(), [&](const kernel_case& c) { return c.kernel == &k; });
}
std::vector<given> run(const kernel_source& k) { return run_case_on_cpu(find(all_cases(), k)); }

TEST(kernel, ids_in_one_two_and_three_dimensions) {
  int num_cases = 0;
  for (const kernel_case& c : all_cases()) {
    if (c.kernel != &write_ids) continue;
    ++num_cases;
    const auto out = run_case_on_cpu(c)[0].as<int>();
    std::size_t at = 0;
    const extent3 g = c.shape.groups, l = c.shape.group;
    for (unsigned z = 0; z < g[2] * l[2]; ++z)
      for (unsigned y = 0; y < g[1] * l[1]; ++y)
        for (unsigned x = 0; x < g[0] * l[0]; ++x, at += 12) {
          const std::vector<unsigned> expected{x / l[0], y / l[1], z / l[2], x % l[0], y % l[1], z % l[2],
                                               l[0],     l[1],     l[2],     g[0],     g[1],     g[2]};
          ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin() + static_cast<long>(at),
                                 [](unsigned a, int b) { return static_cast<int>(a) == b; }))
              << x << ' ' << y << ' ' << z;
        }
  }
  EXPECT_EQ(num_cases, 3);
}

TEST(kernel, items_beyond_the_end_do_nothing) {
  const auto cases = all_cases();
  for (const kernel_source* k :
       {static_cast<const kernel_source*>(&saxpy), static_cast<const kernel_source*>(&scale_below)})
    for (const given& g : run_case_on_cpu(find(cases, *k))) EXPECT_FALSE(g.bytes.empty());
  const auto before = find(cases, scale_below).arguments[2].as<double>();
  const auto after = run(scale_below)[2].as<double>();
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_EQ(after[i], i < 1000 ? before[i] * 1.1 : before[i]) << i;
  EXPECT_EQ(detail::items_below(cpu_group{{2, 0, 0}, {4, 1, 1}, {10, 1, 1}, nullptr}, 0, 25), 5);
  EXPECT_EQ(detail::items_below(cpu_group{{3, 0, 0}, {4, 1, 1}, {10, 1, 1}, nullptr}, 0, 25), 0);
  EXPECT_EQ(detail::items_below(cpu_group{{0, 0, 0}, {1, 4, 1}, {1, 10, 1}, nullptr}, 1, 25L), 10);
}

TEST(kernel, streamed_rows_are_those_below_the_bound) {
  const auto before = find(all_cases(), streamed_rows).arguments[3].as<double>();
  const auto results = run(streamed_rows);
  const auto in = results[2].as<double>(), out = results[3].as<double>();
  for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i % 121 < 117 ? 2 * in[i] : before[i]) << i;
}

TEST(kernel, has_the_same_bits_from_every_instruction_set) {
  const auto bytes_of = [](const kernel_case& c, cpu_function form) {
    kernel_source k = *c.kernel;
    k.on_cpu = {form, nullptr, nullptr};
    std::vector<std::byte> all;
    for (const given& g : run_case_on_cpu({&k, c.shape, c.arguments}))
      all.insert(all.end(), g.bytes.begin(), g.bytes.end());
    return all;
  };
  int num_forms = 0;
  for (const kernel_case& c : all_cases()) {
    const cpu_forms& f = c.kernel->on_cpu;
    ASSERT_NE(f.everywhere, nullptr);
    ASSERT_NE(f.best(), nullptr);
    for (const cpu_function wide : {f.avx2, f.avx512}) {
      const cpu_forms only{f.everywhere, wide == f.avx2 ? wide : nullptr, wide == f.avx512 ? wide : nullptr};
      if (wide == nullptr || only.best() != wide) continue;  // not built, or not for this machine
      ++num_forms;
      EXPECT_EQ(bytes_of(c, wide), bytes_of(c, f.everywhere)) << c.kernel->name;
    }
  }
  if (num_forms == 0) GTEST_SKIP() << "no wide forms in this build, or for this machine";
}

TEST(kernel, regions_reverse_through_static_shared_memory) {
  auto expected = find(all_cases(), reverse_groups).arguments[0].as<int>();
  for (auto at = expected.begin(); at != expected.end(); at += 50) std::reverse(at, at + 50);
  EXPECT_EQ(run(reverse_groups)[0].as<int>(), expected);
}

TEST(kernel, regions_in_a_loop_and_dynamic_shared_memory) {
  const auto results = run(prefix_sum);
  const auto in = results[0].as<double>(), out = results[1].as<double>();
  double sum = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    sum = i % 128 == 0 ? in[i] : sum + in[i];
    ASSERT_NEAR(out[i], sum, 1e-9) << i;
  }
}

TEST(kernel, private_arrays_belong_to_an_item) {
  const auto results = run(private_arrays);
  const auto in = results[0].as<int>(), out = results[1].as<int>();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const int backwards = in[i] % 10 * 1000 + in[i] / 10 % 10 * 100 + in[i] / 100 % 10 * 10 + in[i] / 1000;
    ASSERT_EQ(out[i], backwards + 21 * static_cast<int>(i % 40) * 10'000) << i;
  }
}

TEST(kernel, private_values_outlive_a_region) {
  const auto results = run(private_values);
  const auto in = results[0].as<double>(), out = results[1].as<double>();
  std::size_t at = 0;
  for (int y = 0; y < 4; ++y)
    for (std::size_t group = 0; group < 8; ++group, at += 64) {
      std::vector<double> held(in.begin() + static_cast<long>(group) * 64,
                               in.begin() + static_cast<long>(group) * 64 + 64);
      std::vector<double> sum(64, 0.1 * y);
      std::vector<int> turns(64, 0);
      for (std::size_t turn = 0; turn < 3; ++turn) {
        for (std::size_t x = 0; x < 64; ++x) {
          const std::size_t next = (x + turn) % 64;
          sum[x] += held[next] * held[next] / 3.0;
          turns[x] += static_cast<int>(next);
        }
        for (std::size_t x = 0; x < 64; ++x) held[x] = sum[x] + turns[x];
      }
      for (std::size_t x = 0; x < 64; ++x)
        ASSERT_EQ(out[static_cast<std::size_t>(y) * 512 + group * 64 + x], sum[x] * turns[x]);
    }
}

TEST(kernel, continue_ends_an_item_and_arrays_of_an_item_are_its_own) {
  const auto results = run(items_of_their_own);
  const auto in = results[1].as<int>(), out = results[2].as<int>();
  int sum = 0;
  for (std::size_t i = 0; i < in.size(); ++i) {
    int mine = 0;
    if (in[i] % 3 != 0) {
      int mixed[8];
      for (int k = 0; k < 8; ++k) mixed[(k + in[i]) & 7] = in[i] * k;
      mine = mixed[(3 * in[i]) & 7] - mixed[0];
    }
    sum = i % 64 == 0 ? mine : sum + mine;
    ASSERT_EQ(out[i], sum) << i;
  }
}

TEST(kernel, tiled_matrix_product) {
  const auto r = run(tiled_dgemm);
  const auto a = r[1].as<double>(), b = r[2].as<double>(), c = r[3].as<double>();
  for (std::size_t y = 0; y < 64; ++y)
    for (std::size_t x = 0; x < 64; ++x) {
      double sum = 0;
      for (std::size_t k = 0; k < 64; ++k) sum += a[y * 64 + k] * b[k * 64 + x];
      ASSERT_EQ(c[y * 64 + x], sum);  // the same order of additions
    }
}

struct on_host : testing::Test {
  bare_pe pe;
  host_memory memory;
  host_device device{pe.queue, 0, memory};
  std::unique_ptr<stream> s = device.make_stream(stream_priority::low, "the stream of a test");
  std::vector<float> x = std::vector<float>(100, 1), y = std::vector<float>(100, 2);

  std::string refusal(const kernel_source& k, const launch_shape& shape) {
    try {
      void* none[4] = {};
      launch(*s, k, shape, none);
    } catch (const usage_error& e) {
      return e.what();
    }
    return "none";
  }
};

TEST_F(on_host, a_launch_runs_in_stream_order_with_the_values_of_its_call) {
  int n = 100;
  float a = 3;
  launch(*s, saxpy, launch_shape::over(100, 32), n, a, x.data(), y.data());
  n = 0;
  a = 0;
  EXPECT_EQ(y[0], 2);
  launch(*s, saxpy, {.groups = {2}, .group = {25}}, 50, 1, x.data(), y.data());
  pe.run();
  EXPECT_EQ(y[49], 6);
  EXPECT_EQ(y[99], 5);
}

TEST_F(on_host, an_inline_kernel) {
  std::vector<double> v(100, 8);
  launch(*s, halve, launch_shape::over(100, 64), 100, v.data());
  pe.run();
  EXPECT_EQ(v, std::vector<double>(100, 4));
  EXPECT_EQ(halve.on_cuda, nullptr);
  EXPECT_THAT(halve.opencl_text, HasSubstr("IX_KERNEL(halve, (int n, IX_GLOBAL double* x))"));
}

TEST_F(on_host, an_inline_kernel_with_a_bound) {
  std::vector<double> v(100, 8);
  launch(*s, add_places, launch_shape::over(100, 16), 25, v.data());
  pe.run();
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(v[i], i < 50 ? 8 + static_cast<double>(i) : 8);
  EXPECT_THAT(add_places.opencl_text,
              HasSubstr("IX_KERNEL(add_places, (int n, IX_GLOBAL double* x)) "
                        "{ IX_ITEMS_BELOW(2 * n) { const int i = IX_GLOBAL_ID(0); double a = i, "
                        "b = 1; x[i] += a * b; } }"));
}

TEST_F(on_host, a_launch_that_is_destroyed_has_not_run) {
  launch(*s, saxpy, launch_shape::over(100), 100, 1.0F, x.data(), y.data());
  s.reset();
  pe.run();
  EXPECT_EQ(y[0], 2);
}

TEST_F(on_host, refused_shapes_name_kernel_value_and_remedy) {
  EXPECT_THAT(refusal(saxpy, {.groups = {0}}),
              testing::AllOf(HasSubstr("'saxpy'"), HasSubstr("{0, 1, 1} groups"), HasSubstr("do not launch")));
  EXPECT_THAT(refusal(saxpy, {.group = {16, 0}}), HasSubstr("groups of {16, 0, 1} items, which are 0"));
  EXPECT_THAT(refusal(saxpy, {.group = {32, 32, 2}}), HasSubstr("which are 2048: a group has 1 to 1024"));
  EXPECT_THAT(refusal(tiled_dgemm, {.group = {16, 8}}), HasSubstr("it is written for {16, 16, 1}"));
  EXPECT_THAT(refusal(saxpy, {.groups = {4000000}, .group = {1024}}), HasSubstr("use another dimension"));
}

TEST(kernel, threads_share_the_groups_of_one_launch) {
  const auto cases = all_cases();
  const kernel_case& c = find(cases, prefix_sum);
  const auto in = c.arguments[0].as<double>();
  std::vector<double> out(in.size());
  const double* from = in.data();
  double* to = out.data();
  void* arguments[] = {&from, &to};
  std::vector<std::thread> threads;
  threads.reserve(c.shape.num_groups());
  for (std::size_t i = 0; i < c.shape.num_groups(); ++i)
    threads.emplace_back([&, i] { run_on_cpu(*c.kernel, c.shape, arguments, i, i + 1); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(out, run_case_on_cpu(c)[1].as<double>());
}

TEST(launch_shape, over_a_grid_has_groups_for_all_items) {
  const launch_shape a = launch_shape::over_grid(33, 8);
  EXPECT_EQ(a.groups, (extent3{2, 1, 1}));
  EXPECT_EQ(a.group, (extent3{32, 8, 1}));
  const launch_shape b = launch_shape::over_grid(1, 17, 5, {8, 8, 4});
  EXPECT_EQ(b.groups, (extent3{1, 3, 2}));
  EXPECT_EQ(b.items_of_group(), 256U);
}

}  // namespace

}  // namespace kernel_test
