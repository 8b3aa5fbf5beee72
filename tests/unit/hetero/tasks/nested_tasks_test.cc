#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <atomic>
#include <thread>

#include "imbrex/base/clock.h"
#include "unit/object/job.h"

namespace nested_tasks_test {

// Tasks that submit tasks, wherever they run.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using object = ix::hetero_object<double>;

void take_time(std::int64_t microseconds) {
  const std::int64_t until = ix::now_ns() + microseconds * 1000;
  while (ix::now_ns() < until) std::this_thread::yield();
}

constexpr std::size_t n = 300;

ix::task<double> sum_of(std::vector<object> all) {
  double sum = 0;
  for (const object& x : all) {
    auto access = x.host(ix::access_mode::read);
    const auto view = co_await access;
    sum += view[0];
  }
  co_return sum;
}

ix::task<int> each_submits_one(ix::runtime&) {
  std::vector<object> a, b;
  std::vector<ix::hetero_task> outer;
  std::atomic<int> elsewhere{0};
  const auto home = std::this_thread::get_id();
  for (std::size_t i = 0; i < n; ++i) {
    a.emplace_back(std::size_t{10});
    b.emplace_back(std::size_t{10});
    ix::submit(
        {}, [](std::span<double> v, double to) { std::fill(v.begin(), v.end(), to); }, write(a[i]),
        static_cast<double>(i));
    auto body = [out = b[i], home, &elsewhere](std::span<const double> v) {
      take_time(20);
      if (std::this_thread::get_id() != home) ++elsewhere;
      const object copy = out;
      ix::submit(
          {.name = "inner"}, [s = v[0]](std::span<double> w) { std::fill(w.begin(), w.end(), s + 1); }, write(copy));
    };
    outer.push_back(ix::submit({.name = "outer"}, body, a[i]));
  }
  for (const ix::hetero_task& t : outer) co_await t;
  const double sum = co_await sum_of(b);
  EXPECT_EQ(sum, static_cast<double>(n * (n + 1) / 2));
  co_return elsewhere > 0 ? 3 : 0;
}

/// Each makes two slices of the same object, one of them a slice of a slice.
ix::task<int> slices(ix::runtime& rt) {
  constexpr std::size_t num = 64, each = 32;
  object x(num * each);
  ix::submit({}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 1.0); }, write(x));
  auto add = [](std::span<double> v, double term) {
    for (double& e : v) e += term;
  };
  for (std::size_t i = 0; i < num; ++i) {
    auto body = [x, i, add] {
      take_time(20);
      ix::submit({.name = "first half"}, add, x.slice(i * each, each / 2), 1.0);
      object second = x.slice(i * each, each).slice(each / 2, each / 2);
      ix::submit({.name = "second half"}, add, second, 2.0);
      EXPECT_EQ(second.size(), each / 2);
    };
    ix::submit({.name = "slices"}, body);
  }
  co_await rt.quiescence();
  auto access = x.host(ix::access_mode::read);
  const auto view = co_await access;
  for (std::size_t i = 0; i < view.size(); ++i) EXPECT_EQ(view[i], i % each < each / 2 ? 2 : 3) << i;
  co_return 0;
}

ix::task<int> chains_of_new_objects(ix::runtime& rt) {
  std::vector<object> results;
  for (int i = 0; i < 50; ++i) {
    results.emplace_back(std::size_t{1});
    auto body = [result = results.back()] {
      take_time(50);
      object fresh(100);
      const ix::hetero_task first =
          ix::submit({}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 0.5); }, write(fresh));
      auto add = [](std::span<const double> v, std::span<double> r) {
        r[0] = 0;
        for (const double e : v) r[0] += e;
      };
      ix::submit({.after = std::span(&first, 1)}, add, fresh, write(result));
    };
    ix::submit({}, body);
  }
  co_await rt.quiescence();
  const double sum = co_await sum_of(results);
  EXPECT_EQ(sum, 50 * 50);
  co_return 0;
}

ix::task<int> what_is_refused(ix::runtime&) {
  object unwritten(1);
  std::vector<ix::hetero_task> all;
  for (int i = 0; i < 50; ++i) {
    auto body = [unwritten] {
      take_time(50);
      ix::submit({.name = "reader"}, [](std::span<const double>) {}, unwritten);
    };
    all.push_back(ix::submit({.name = "outer"}, body));
  }
  int refused = 0;
  for (const ix::hetero_task& t : all) {
    try {
      co_await t;
    } catch (const ix::usage_error& e) {
      refused += std::string(e.what()).find("'reader'") != std::string::npos ? 1 : 0;
    }
  }
  EXPECT_EQ(refused, 50);
  co_return 0;
}

const std::vector<job_shape> shapes{{1, 1}, {2, 1}, {4, 1}, {2, 2}, {3, 1, 7}};

template <class Start>
void run_over_shapes(Start start) {
  for (const job_shape& s : shapes) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_job_with(s, start), 0);
  }
}

TEST(nested_tasks, that_one_pe_submits_others_run) {
  EXPECT_EQ(run_job_with({1, 1}, each_submits_one), 0);
  EXPECT_EQ(run_job_with({2, 1}, each_submits_one), 3) << "no task has run elsewhere";
  EXPECT_EQ(run_job_with({4, 1}, each_submits_one), 3) << "no task has run elsewhere";
}
TEST(nested_tasks, work_with_slices_that_they_make) { run_over_shapes(slices); }
TEST(nested_tasks, work_with_objects_of_their_own) { run_over_shapes(chains_of_new_objects); }
TEST(nested_tasks, that_are_refused_fail_the_task_that_submits_them) { run_over_shapes(what_is_refused); }

}  // namespace

}  // namespace nested_tasks_test
