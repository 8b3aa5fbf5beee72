#include "imbrex/hetero/submission/untyped_task.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/text_kernels.h"
#include "unit/hetero/hetero_fixture.h"

namespace untyped_task_test {

using namespace imbrex;
using namespace imbrex_test;
using testing::HasSubstr;
using testing::ThrowsMessage;

namespace {

constexpr std::uint8_t host = task_node::on_the_host;

template <class T>
std::vector<std::byte> bytes_of(const T& v) {
  std::vector<std::byte> b(sizeof v);
  std::memcpy(b.data(), &v, sizeof v);
  return b;
}

std::vector<double> elements_of(hetero_pe& on, const hetero_object<double>& x) {
  std::vector<double> found;
  submit(*on.domain, {}, [&found](std::span<const double> v) { found.assign(v.begin(), v.end()); }, x);
  on.pe.run();
  return found;
}

/// out = factor * in + out, elementwise.
std::function<void(const untyped_call&)> add_multiple(double factor, std::size_t n) {
  return [=](const untyped_call& c) {
    const auto* in = reinterpret_cast<const double*>(c.objects[0]);
    auto* out = reinterpret_cast<double*>(c.objects[1]);
    const auto add = [=] {
      for (std::size_t i = 0; i < n; ++i) out[i] += factor * in[i];
    };
    c.order != nullptr ? c.order->call("add", add) : add();
  };
}

TEST(untyped_task, random_graphs_give_what_sequential_execution_gives) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    hetero_pe on(2);
    std::mt19937 random(seed);
    constexpr std::size_t n = 7, num_objects = 5;
    std::vector<hetero_object<double>> objects;
    std::vector<std::vector<double>> expected;
    for (std::size_t i = 0; i < num_objects; ++i) {
      objects.push_back(on.object<double>(n));
      expected.emplace_back(n, static_cast<double>(i + 1));
      submit_untyped(*on.domain, {}, host, {{objects[i].data(), access_mode::write}}, [i](const untyped_call& c) {
        std::fill_n(reinterpret_cast<double*>(c.objects[0]), n, static_cast<double>(i + 1));
      });
    }
    for (int step = 0; step < 60; ++step) {
      const std::size_t a = random() % num_objects, b = (a + 1 + random() % (num_objects - 1)) % num_objects;
      const double factor = static_cast<double>(random() % 3) - 1;
      const bool anywhere = random() % 2 == 0;
      const auto where = static_cast<std::uint8_t>(anywhere ? host | task_node::on_devices(device_kind::host) : host);
      submit_untyped(*on.domain, {}, where,
                     {{objects[a].data(), access_mode::read}, {objects[b].data(), access_mode::read_write}},
                     add_multiple(factor, n));
      for (std::size_t i = 0; i < n; ++i) expected[b][i] += factor * expected[a][i];
    }
    for (std::size_t i = 0; i < num_objects; ++i) EXPECT_EQ(elements_of(on, objects[i]), expected[i]) << seed;
  }
}

TEST(untyped_task, is_named_awaited_and_fails_as_others_do) {
  hetero_pe on;
  auto x = on.object<double>(3);
  const hetero_task t = submit_untyped(*on.domain, {.name = "mine"}, host, {{x.data(), access_mode::write}},
                                       [](const untyped_call&) { throw usage_error("no"); });
  const hetero_task after =
      submit_untyped(*on.domain, {.name = "next"}, host, {{x.data(), access_mode::read}}, [](const untyped_call&) {});
  const auto awaits = [](hetero_task of) -> task<> { co_await of; };
  EXPECT_THAT([&] { on.run(awaits(t)); }, ThrowsMessage<usage_error>(HasSubstr("mine")));
  EXPECT_THAT([&] { on.run(awaits(after)); }, ThrowsMessage<error>(HasSubstr("mine")));
}

TEST(untyped_task, kernels_of_texts_run_on_the_host_and_on_devices) {
  const text_kernels all(
      "IX_KERNEL(scaled_copy, (int n, IX_GLOBAL const double* in, double f, IX_GLOBAL double* out)) {\n"
      "  IX_ITEMS_BELOW(n) { out[IX_GLOBAL_ID(0)] = f * in[IX_GLOBAL_ID(0)]; }\n}");
  const kernel_source& k = all.get("scaled_copy");
  if (!k.runs_on_host()) GTEST_SKIP() << "no C++ compiler";
  hetero_pe on(1);
  constexpr int n = 1000;
  auto x = on.object<double>(n), y = on.object<double>(n);
  submit(*on.domain, {}, [](std::span<double> v) { std::ranges::fill(v, 2.0); }, write(x));
  const auto scaled = [&](const hetero_object<double>& from, double f, const hetero_object<double>& to,
                          task_options o) {
    submit_untyped(*on.domain, o, k, launch_shape::over(n),
                   {{from.data(), access_mode::read}, {to.data(), access_mode::write}},
                   {bytes_of(n), {}, bytes_of(f), {}});
  };
  scaled(x, 3.0, y, {.on = device_kind::host, .number = 0});
  scaled(y, 5.0, x, {});
  EXPECT_THAT(elements_of(on, x), testing::Each(30.0));
  // The same kernel by its type.
  submit(*on.domain, {}, all.get<void(int, const double*, double, double*)>("scaled_copy"), launch_shape::over(n), n, x,
         0.5, write(y));
  EXPECT_THAT(elements_of(on, y), testing::Each(15.0));
}

TEST(untyped_task, are_recorded_in_windows_as_others_are) {
  const text_kernels all(
      "IX_KERNEL(add_half, (int n, IX_GLOBAL const double* in, IX_GLOBAL double* out)) {\n"
      "  IX_ITEMS_BELOW(n) { out[IX_GLOBAL_ID(0)] = in[IX_GLOBAL_ID(0)] + 0.5; }\n}");
  const kernel_source& k = all.get("add_half");
  if (!k.runs_on_host()) GTEST_SKIP() << "no C++ compiler";
  for (int num_devices : {0, 2}) {
    hetero_pe on(num_devices);
    constexpr int n = 300;
    auto x = on.object<double>(n), y = on.object<double>(n);
    submit(*on.domain, {}, [](std::span<double> v) { std::ranges::fill(v, 1.0); }, write(x));
    const task_window w = record(*on.domain, [&] {
      submit_untyped(*on.domain, {}, k, launch_shape::over(n, 64),
                     {{x.data(), access_mode::read}, {y.data(), access_mode::write}}, {bytes_of(n), {}, {}});
      submit_untyped(*on.domain, {}, host, {{y.data(), access_mode::read}, {x.data(), access_mode::read_write}},
                     add_multiple(1.0, n));
    });
    for (int i = 0; i < 3; ++i) w.replay();
    // x becomes 2 x + 1/2.
    EXPECT_THAT(elements_of(on, x), testing::Each(11.5)) << num_devices;
  }
}

TEST(untyped_task, what_does_not_fit_a_kernel_is_refused) {
  const text_kernels all("IX_KERNEL(fits, (int n, IX_GLOBAL const double* in, IX_GLOBAL double* out)) {}");
  const kernel_source& k = all.get("fits");
  hetero_pe on;
  auto x = on.object<double>(3), y = on.object<double>(3);
  const auto with = [&](std::vector<untyped_use> uses, std::vector<std::vector<std::byte>> values) {
    return [&on, &k, uses, values] { submit_untyped(*on.domain, {}, k, launch_shape::over(1), uses, values); };
  };
  const untyped_use in{x.data(), access_mode::read}, out{y.data(), access_mode::write};
  EXPECT_THAT(with({in, out}, {bytes_of(1), {}}),
              ThrowsMessage<usage_error>(HasSubstr("has 3 parameters, and was given 2")));
  EXPECT_THAT(with({in}, {bytes_of(1), {}, {}}),
              ThrowsMessage<usage_error>(HasSubstr("has 2 pointers, and was given 1")));
  EXPECT_THAT(with({in, out}, {bytes_of(1.0), {}, {}}),
              ThrowsMessage<usage_error>(HasSubstr("has 4 bytes, and was given 8")));
  EXPECT_THAT(with({out, in}, {bytes_of(1), {}, {}}),
              ThrowsMessage<usage_error>(HasSubstr("parameter 2 of kernel 'fits' is const")));
  EXPECT_THAT(with({{nullptr, access_mode::read}, out}, {bytes_of(1), {}, {}}),
              ThrowsMessage<usage_error>(HasSubstr("empty")));
  on.pe.run();
}

}  // namespace

}  // namespace untyped_task_test
