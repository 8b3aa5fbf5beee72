// What stands where parameters stand, besides objects and values; and tasks that give something.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace arguments_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

template <class R>
task<> await_result(task_result<R> t, R* into) {
  *into = co_await t;
}

task<> halve_until_small(hetero_domain& domain, hetero_object<double> x, int* steps) {
  for (;;) {
    const auto halve = [](std::span<double> v) { return v[0] /= 2; };
    const task_result<double> left = submit(domain, {}, halve, x);
    const double now = co_await left;
    ++*steps;
    if (now < 1) co_return;
  }
}

TEST(task_result, is_what_the_function_returned) {
  hetero_pe on;
  const auto text = submit(*on.domain, {}, [](int n) { return std::string(static_cast<std::size_t>(n), 'x'); }, 40);
  std::string found;
  on.run(await_result(text, &found));
  EXPECT_EQ(found, std::string(40, 'x'));
  on.run(await_result(text, &found));  // as often as one likes
  EXPECT_EQ(text.value(), found);
}

TEST(task_result, decides_how_a_coroutine_goes_on) {
  hetero_pe on;
  auto x = on.object<double>(1);
  submit(*on.domain, {}, [](std::span<double> v) { v[0] = 100; }, write(x));
  int steps = 0;
  on.run(halve_until_small(*on.domain, x, &steps));
  EXPECT_EQ(steps, 7);
}

TEST(task_result, as_an_argument_is_waited_for) {
  hetero_pe on(1);
  auto x = on.object<double>(4);
  submit(*on.domain, {}, [](std::span<double> v) { std::ranges::fill(v, 2.0); }, write(x));
  const auto sum = submit(*on.domain, {}, [](std::span<const double> v) { return v[0] + v[1] + v[2] + v[3]; }, x);
  const auto twice = submit(*on.domain, {.priority = 5}, [](const double& s) { return 2 * s; }, sum);
  const auto fill = [](stream& s, std::span<double> v, double a, double b) {
    s.call("fill", [=] { std::ranges::fill(v, a + b); });
  };
  auto y = on.object<double>(4);
  submit(*on.domain, {.on = device_kind::host, .number = 0}, fill, write(y), sum, twice);
  double found = 0;
  submit(*on.domain, {}, [&found](std::span<const double> v) { found = v[3]; }, y);
  on.pe.run();
  EXPECT_EQ(found, 24);
}

TEST(task_result, of_a_task_that_fails_fails_those_that_take_it) {
  hetero_pe on;
  const auto bad = submit(*on.domain, {.name = "bad"}, []() -> int { throw std::runtime_error("no"); });
  const auto next = submit(*on.domain, {}, [](int n) { return n + 1; }, bad);
  const hetero_task plain = next;
  int found = 0;
  EXPECT_THROW(on.run(await_result(next, &found)), remote_error);
  EXPECT_EQ(plain.state(), task_state::failed);
}

TEST(scratch, is_memory_of_one_task_where_it_runs) {
  hetero_pe on(1, 4096);
  auto x = on.object<double>(8);
  const auto square = [](stream& s, std::span<double> v, double* copy, std::span<int> other) {
    s.call("square", [=] {
      std::ranges::copy(v, copy);
      std::ranges::fill(other, 1);
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = copy[i] * copy[i] * other[2];
    });
  };
  submit(*on.domain, {}, [](std::span<double> v) { std::ranges::fill(v, 1.5); }, write(x));
  for (int i = 0; i < 3; ++i) submit(*on.domain, {}, square, x, scratch<double>(8), scratch<int>(3));
  double found = 0;
  submit(
      *on.domain, {}, [&found](std::span<const double> v, std::span<char> c) { found = v[7] + 0 * c.size(); }, x,
      scratch<char>(100));
  on.pe.run();
  EXPECT_EQ(found, 25.62890625);
  EXPECT_EQ(on.domain->copies().num_objects(),
            1U);  // of scratch nothing is left, nor was it moved
  EXPECT_EQ(on.counts().bytes_to_host, 8 * sizeof(double));
}

TEST(codelet, runs_on_the_host_or_on_a_device) {
  for (const int devices : {0, 2}) {
    hetero_pe on(devices);
    auto x = on.object<double>(4);
    int on_host = 0, on_device = 0;
    const codelet twice{[&on_host](std::span<double> v, double by) {
                          ++on_host;
                          for (double& e : v) e *= by;
                        },
                        [&on_device](stream& s, std::span<double> v, double by) {
                          ++on_device;
                          s.call("twice", [=] {
                            for (double& e : v) e *= by;
                          });
                        }};
    submit(*on.domain, {}, [](std::span<double> v) { std::ranges::fill(v, 1.0); }, write(x));
    for (int i = 0; i < 4; ++i) submit(*on.domain, {.name = "twice"}, twice, x, 2.0);
    double found = 0;
    submit(*on.domain, {}, [&found](std::span<const double> v) { found = v[0]; }, x);
    on.pe.run();
    EXPECT_EQ(found, 16);
    EXPECT_EQ(on_host, devices == 0 ? 4 : 0);
    EXPECT_EQ(on_device, devices == 0 ? 0 : 4);
  }
}

TEST(codelet, is_for_one_kind_of_device_if_it_says_so) {
  hetero_pe on(1);
  auto x = on.object<double>(4);
  int on_host = 0;
  const codelet here{[&on_host](std::span<double>) { ++on_host; }, [](stream&, std::span<double>) { FAIL(); },
                     device_kind::cuda};
  submit(*on.domain, {}, here, write(x));
  on.pe.run();
  EXPECT_EQ(on_host, 1);
  EXPECT_THROW(submit(*on.domain, {.on = device_kind::cuda}, here, write(x)), device_error);
}

}  // namespace

}  // namespace arguments_test
