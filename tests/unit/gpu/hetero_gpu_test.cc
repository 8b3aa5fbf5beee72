#include <gmock/gmock.h>

#include <numeric>

#include "gpu_fixture.h"
#include "imbrex/base/error.h"
#include "imbrex/device/host/host_device.h"
#include "imbrex/hetero/submission/tasks.h"
#include "imbrex/hetero/windows/task_window.h"
#include "imbrex/object/reduction.h"
#include "test_kernels.h"

#include "imbrex/device/kernel/kernel_dialect.h"

#include "hetero_kernels.hk"

namespace hetero_gpu_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t n = 10'000;

struct hetero_gpus : testing::TestWithParam<completion_mode> {
  void open(const std::vector<int>& numbers, hetero_options options = {}) {
    gpu = std::make_unique<gpu_pe>(GetParam(), numbers);
    host = std::make_unique<host_device>(gpu->pe.queue, 0, memory);
    std::vector<device*> devices;
    for (const auto& d : gpu->devices) devices.push_back(d.get());
    if (options.device_bytes == 0) options.device_bytes = 64 << 20;
    domain = std::make_unique<hetero_domain>(gpu->pe.queue, *host, devices, options);
  }
  void TearDown() override {
    if (gpu) gpu->completion->drain(INT64_MAX);
    domain.reset();
  }
  hetero_object<double> object(double value) {
    hetero_object<double> x(*domain, n);
    submit(*domain, {}, [value](std::span<double> v) { std::fill(v.begin(), v.end(), value); }, write(x));
    return x;
  }
  void expect_all(const hetero_object<double>& x, double value) {
    double least = 0, most = 0;
    const hetero_task t = submit(
        *domain, {},
        [&least, &most](std::span<const double> v) {
          least = *std::min_element(v.begin(), v.end());
          most = *std::max_element(v.begin(), v.end());
        },
        x);
    gpu->run_until([&] { return t.done(); });
    EXPECT_EQ(least, value);
    EXPECT_EQ(most, value);
  }

  host_memory memory;
  std::unique_ptr<gpu_pe> gpu;
  std::unique_ptr<host_device> host;
  std::unique_ptr<hetero_domain> domain;
};

TEST_P(hetero_gpus, one_source_runs_on_gpu_and_host_in_turns) {
  SKIP_WITHOUT_GPU(1);
  open({0});
  auto x = object(1);
  for (int i = 0; i < 50; ++i) {
    const device_kind where = i % 10 == 9 ? device_kind::host : device_kind::cuda;
    submit(*domain, {.on = where}, times_plus, launch_shape::over(n), static_cast<int>(n), 1.0, 2.0, x);
  }
  expect_all(x, 101);
  EXPECT_EQ(domain->counts().bytes_to_host, 5 * n * sizeof(double));
}

TEST_P(hetero_gpus, a_dependent_kernel_does_not_wait_for_the_host) {
  SKIP_WITHOUT_GPU(1);
  if (GetParam() == completion_mode::sync) GTEST_SKIP() << "sync blocks the PE: that is what it is";
  open({0});
  auto x = object(0);
  expect_all(x, 0);
  buffer<int> done(*gpu->devices[0], 1, memory_kind::pinned);
  done.data()[0] = 0;
  auto slow = [at = done.data()](stream& s, double*) { take_time(s, 20'000, at); };
  submit(*domain, {}, slow, x);
  std::vector<hetero_task> behind;
  for (int i = 0; i < 10; ++i)
    behind.push_back(submit(*domain, {}, times_plus, launch_shape::over(n), static_cast<int>(n), 1.0, 1.0, x));
  for (int turn = 0; turn < 11; ++turn) domain->dispatch();  // each starts one at least
  EXPECT_EQ(*static_cast<volatile int*>(done.data()), 0);
  for (const hetero_task& t : behind) EXPECT_EQ(t.state(), task_state::issued);
  expect_all(x, 10);
}

TEST_P(hetero_gpus, two_gpus_pass_an_object_on) {
  SKIP_WITHOUT_GPU(2);
  open({0, 1});
  auto x = object(0);
  for (int i = 0; i < 100; ++i) {
    submit(*domain, {.on = device_kind::cuda, .number = i % 2}, times_plus, launch_shape::over(n), static_cast<int>(n),
           1.0, 1.0, x);
  }
  expect_all(x, 100);
  EXPECT_EQ(domain->counts().bytes_between, 99 * n * sizeof(double));
  EXPECT_EQ(domain->counts().bytes_to_devices, n * sizeof(double));
}

TEST_P(hetero_gpus, more_objects_than_fit) {
  SKIP_WITHOUT_GPU(1);
  hetero_options options;
  options.device_bytes = 8 * n * sizeof(double);
  open({0}, options);
  std::vector<hetero_object<double>> all;
  for (int i = 0; i < 30; ++i) all.push_back(object(i));
  for (int round = 0; round < 5; ++round) {
    for (auto& x : all)
      submit(*domain, {.on = device_kind::cuda}, times_plus, launch_shape::over(n), static_cast<int>(n), 1.0, 1.0, x);
  }
  for (int i = 0; i < 30; ++i) expect_all(all[static_cast<std::size_t>(i)], i + 5);
}

TEST_P(hetero_gpus, a_window_becomes_a_graph) {
  SKIP_WITHOUT_GPU(1);
  open({0});
  auto x = object(1), y = object(0), z = object(0);
  const int count = static_cast<int>(n);
  const task_window w = record(*domain, [&] {
    submit(*domain, {}, times_plus, launch_shape::over(n), count, 2.0, 0.0, x);
    submit(*domain, {}, times_plus, launch_shape::over(n), count, 1.0, 3.0, y);
    auto copy = [](stream& s, std::span<const double> from, std::span<double> to) {
      s.copy(to.data(), from.data(), from.size_bytes());
    };
    submit(*domain, {}, copy, y, write(z));
    submit(*domain, {}, times_plus, launch_shape::over(n), count, 1.0, 1.0, z);
  });
  ASSERT_TRUE(w.on_device());
  for (int i = 0; i < 10; ++i) {
    w.replay();
    if (i == 4) submit(*domain, {.on = device_kind::host}, times_plus, launch_shape::over(n), count, 1.0, -1.0, x);
  }
  expect_all(x, ((1 << 5) - 1) * (1 << 5));
  EXPECT_TRUE(w.was_graph());
  expect_all(y, 30);
  expect_all(z, 31);
  // Elsewhere in memory: not the old graph.
  for (auto* o : {&x, &y, &z}) domain->evict(*o->data());
  std::vector<hetero_object<double>> in_the_way;
  for (int i = 0; i < 3; ++i) {
    in_the_way.push_back(object(5));
    submit(*domain, {.on = device_kind::cuda}, times_plus, launch_shape::over(n), count, 1.0, 0.0, in_the_way.back());
    expect_all(in_the_way.back(), 5);
  }
  w.replay();
  expect_all(z, 34);
  EXPECT_FALSE(w.was_graph());
  w.replay();
  expect_all(z, 37);
  EXPECT_TRUE(w.was_graph());
}

/// A ring of objects on all GPUs by turns, each of which takes what its neighbours had.
TEST_P(hetero_gpus, a_window_on_several_becomes_one_graph) {
  SKIP_WITHOUT_GPU(2);
  open({0, 1});
  constexpr std::size_t width = 5;
  const int count = static_cast<int>(n);
  std::vector<hetero_object<double>> now, next;
  std::vector<double> expected;
  for (std::size_t i = 0; i < width; ++i) {
    now.push_back(object(static_cast<double>(i)));
    next.push_back(object(0));
    expected.push_back(static_cast<double>(i));
  }
  const task_window w = record(*domain, [&] {
    for (int step = 0; step < 2; ++step) {
      for (std::size_t i = 0; i < width; ++i) {
        const auto copy = [](stream& s, std::span<const double> from, std::span<double> to) {
          s.copy(to.data(), from.data(), from.size_bytes());
        };
        submit(*domain, {.on = device_kind::cuda, .number = static_cast<int>(i % 2)}, copy, now[(i + 1) % width],
               write(next[i]));
        submit(*domain, {.on = device_kind::cuda, .number = static_cast<int>(i % 2)}, times_plus, launch_shape::over(n),
               count, 2.0, static_cast<double>(i), next[i]);
      }
      std::swap(now, next);
    }
  });
  ASSERT_EQ(w.num_devices(), 2);
  for (int round = 0; round < 10; ++round) {
    w.replay();
    for (int step = 0; step < 2; ++step) {
      const std::vector<double> before = expected;
      for (std::size_t i = 0; i < width; ++i) expected[i] = before[(i + 1) % width] * 2 + static_cast<double>(i);
    }
    if (round == 4) {
      submit(*domain, {.on = device_kind::host}, times_plus, launch_shape::over(n), count, 1.0, -1.0, now[3]);
      expected[3] -= 1;
    }
  }
  for (std::size_t i = 0; i < width; ++i) expect_all(now[i], expected[i]);
  EXPECT_TRUE(w.was_graph());
}

TEST_P(hetero_gpus, reductions_are_combined_there) {
  SKIP_WITHOUT_GPU(1);
  open({0});
  const int count = static_cast<int>(n);
  auto total = object(4);
  hetero_object<double> least(*domain, n);
  hetero_object<int> bits(*domain, n);
  for (int i = 0; i < 20; ++i) {
    submit(*domain, {.on = device_kind::cuda}, times_plus, launch_shape::over(n), count, 1.0, static_cast<double>(i),
           reduce(total, sum).over(3));
    const auto take = [](stream& q, std::span<const double> from, std::span<double> to) {
      q.copy(to.data(), from.data(), from.size_bytes());
    };
    submit(*domain, {.on = device_kind::cuda}, take, object(7.0 - i), reduce(least, imbrex::min).over(20));
    const auto set = [i](stream& s, std::span<int> v) { s.fill(v.data(), static_cast<unsigned char>(i), 8); };
    submit(*domain, {.on = device_kind::cuda}, set, reduce(bits, bit_or).over(20));
  }
  submit(*domain, {.on = device_kind::cuda}, [](stream&, std::span<const double>) {}, total);
  submit(*domain, {.on = device_kind::cuda}, [](stream&, std::span<const double>) {}, least);
  submit(*domain, {.on = device_kind::cuda}, [](stream&, std::span<const int>) {}, bits);
  gpu->run_until([&] { return domain->num_outstanding() == 0; });
  EXPECT_EQ(domain->counts().bytes_to_host, 0);
  expect_all(total, 4 + 190);
  expect_all(least, -12);
  int found = 0;
  const hetero_task t = submit(*domain, {}, [&found](std::span<const int> v) { found = v[1] | v[2]; }, bits);
  gpu->run_until([&] { return t.done(); });
  EXPECT_EQ(found, 0x1f1f1f1f);
}

TEST_P(hetero_gpus, a_window_with_functions_of_the_host_is_no_graph) {
  SKIP_WITHOUT_GPU(1);
  open({0});
  auto x = object(1);
  int calls = 0;
  auto counts = [&calls](stream& s, double*) { s.call("count", [&calls] { ++calls; }); };
  const task_window w = record(*domain, [&] {
    submit(*domain, {}, counts, x);
    submit(*domain, {}, times_plus, launch_shape::over(n), static_cast<int>(n), 1.0, 1.0, x);
  });
  for (int i = 0; i < 4; ++i) w.replay();
  expect_all(x, 5);
  EXPECT_FALSE(w.was_graph());
  EXPECT_EQ(calls, 4);
}

TEST_P(hetero_gpus, a_refused_launch_is_the_tasks_error) {
  SKIP_WITHOUT_GPU(1);
  open({0});
  auto x = object(0);
  auto bad = [](stream& s, double*) { launch_with_too_many_threads(s); };
  const hetero_task t = submit(*domain, {.name = "bad"}, bad, x);
  const hetero_task next = submit(*domain, {}, [](std::span<const double>) {}, x);
  gpu->run_until([&] { return next.done(); });
  EXPECT_EQ(t.state(), task_state::failed);
  EXPECT_EQ(next.state(), task_state::failed);
  try {
    std::rethrow_exception(next.node()->failure());
  } catch (const device_error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("'bad'"), testing::HasSubstr("too_many_threads"),
                                         testing::HasSubstr("cuda 0")));
  }
}

INSTANTIATE_TEST_SUITE_P(completion, hetero_gpus,
                         testing::Values(completion_mode::flag, completion_mode::event, completion_mode::callback,
                                         completion_mode::sync),
                         [](const auto& mode) { return to_string(mode.param); });

}  // namespace

}  // namespace hetero_gpu_test
