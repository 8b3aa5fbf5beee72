// Windows that run on several devices as one task.
#include <gmock/gmock.h>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"
#include "unit/hetero/windows/failed_replay.h"

namespace spread_window_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

hetero_object<double> filled(hetero_pe& on, std::size_t size, double with) {
  auto x = on.object<double>(size);
  submit(*on.domain, {}, [with](std::span<double> v) { std::ranges::fill(v, with); }, write(x));
  return x;
}

double first(hetero_pe& on, const hetero_object<double>& x) {
  double v = -1;
  submit(*on.domain, {}, [&v](const double* at) { v = at[0]; }, x);
  on.pe.run();
  return v;
}

task_options on_number(int number) { return {.on = device_kind::host, .number = number}; }

/// A ring of parts, each on a device of its own, that read their neighbours: what is changed here, in this step, is
/// looked at there in the next.
struct ring {
  static constexpr std::size_t width = 7;

  explicit ring(hetero_pe& pe, int num_devices) : on(pe) {
    for (std::size_t i = 0; i < width; ++i) {
      now.push_back(filled(on, 1, static_cast<double>(i * i)));
      next.push_back(on.object<double>(1));
      expected.push_back(static_cast<double>(i * i));
    }
    const auto mean = [](stream& s, const double* a, const double* b, const double* c, double* to) {
      s.call("mean", [=] { *to = (*a + *b + *c) / 4; });
    };
    window = record(*on.domain, [&] {
      for (int step = 0; step < 2; ++step) {
        for (std::size_t i = 0; i < width; ++i) {
          submit(*on.domain, on_number(static_cast<int>(i) % num_devices), mean, now[(i + width - 1) % width], now[i],
                 now[(i + 1) % width], write(next[i]));
        }
        std::swap(now, next);
      }
    });
  }
  void replay() {
    window.replay();
    for (int step = 0; step < 2; ++step) {
      const std::vector<double> before = expected;
      for (std::size_t k = 0; k < width; ++k)
        expected[k] = (before[(k + width - 1) % width] + before[k] + before[(k + 1) % width]) / 4;
    }
  }
  std::vector<double> values() {
    std::vector<double> all;
    for (const auto& o : now) all.push_back(first(on, o));
    return all;
  }

  hetero_pe& on;
  std::vector<hetero_object<double>> now, next;
  std::vector<double> expected;
  task_window window;
};

TEST(spread_window, of_tasks_of_several_devices_is_one_task) {
  hetero_pe on(3);
  ring r(on, 3);
  EXPECT_EQ(r.window.num_devices(), 3);
  EXPECT_FALSE(r.window.on_device());
  EXPECT_FALSE(r.window.in_order());
  for (int i = 0; i < 5; ++i) {
    r.replay();
    submit(*on.domain, {}, [](double* x) { *x += 1; }, r.now[3]);
    r.expected[3] += 1;
  }
  on.pe.run();
  EXPECT_EQ(r.values(), r.expected);
  EXPECT_EQ(on.counts().tasks, ring::width + 5 * 2 + ring::width) << "a replay counts as one";
}

TEST(spread_window, leaves_each_object_where_it_is_changed_last) {
  hetero_pe on(2);
  auto x = filled(on, 1000, 1), y = filled(on, 1000, 1);
  const auto add = [](stream& s, std::span<const double> from, std::span<double> to) {
    s.call("add", [=] {
      for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
    });
  };
  const task_window w = record(*on.domain, [&] {
    submit(*on.domain, on_number(0), add, y, x);
    submit(*on.domain, on_number(1), add, x, y);
  });
  w.replay();
  on.pe.run();
  const std::uint64_t moved = on.counts().bytes_moved();
  for (int i = 0; i < 3; ++i) w.replay();
  on.pe.run();
  EXPECT_EQ(on.counts().bytes_moved(), moved) << "what goes between the devices meanwhile is the window's own affair";
  EXPECT_EQ(first(on, x), 34) << "Fibonacci: 1 1, 2 3, 5 8, 13 21, 34 55";
}

TEST(spread_window, is_chosen_where_that_is_much_sooner) {
  constexpr std::size_t large = 100'000;
  hetero_pe on(4, 1 << 24);
  std::vector<hetero_object<double>> x;
  for (int i = 0; i < 8; ++i) x.push_back(filled(on, large, 0));
  const auto all = [&](const auto& f) {
    for (const auto& o : x) f(o);
  };
  const task_window apart =
      record(*on.domain, [&] { all([&](const auto& o) { submit(*on.domain, {}, add_on_device(1), o); }); });
  const task_window chain =
      record(*on.domain, [&] { all([&](const auto&) { submit(*on.domain, {}, add_on_device(1), x[0]); }); });
  const task_window named =
      record(*on.domain, [&] { all([&](const auto& o) { submit(*on.domain, on_number(2), add_on_device(1), o); }); });
  EXPECT_EQ(apart.num_devices(), 4);
  EXPECT_EQ(chain.num_devices(), 1);
  EXPECT_EQ(named.num_devices(), 1);
  for (int i = 0; i < 3; ++i) apart.replay(), chain.replay(), named.replay();
  on.pe.run();
  EXPECT_EQ(first(on, x[0]), 3 + 8 * 3 + 3);
  EXPECT_EQ(first(on, x[7]), 3 + 3);
}

TEST(spread_window, keeps_tasks_that_name_a_device_there) {
  constexpr std::size_t large = 100'000;
  hetero_pe on(4, 1 << 24);
  std::vector<hetero_object<double>> x;
  for (int i = 0; i < 6; ++i) x.push_back(filled(on, large, 0));
  std::vector<int> where(6, -1);
  const auto add = [&where](stream& s, std::span<double> v, int i) {
    where[static_cast<std::size_t>(i)] = s.on().number();
    s.call("add", [v] {
      for (double& e : v) e += 1;
    });
  };
  const task_window w = record(*on.domain, [&] {
    for (int i = 0; i < 6; ++i)
      submit(*on.domain, i == 4 ? on_number(3) : task_options{}, add, x[static_cast<std::size_t>(i)], i);
  });
  w.replay();
  on.pe.run();
  EXPECT_EQ(where[4], 3);
  EXPECT_GT(w.num_devices(), 1);
  for (const auto& o : x) EXPECT_EQ(first(on, o), 1);
}

TEST(spread_window, waits_for_tasks_before_and_holds_up_those_behind) {
  hetero_pe on(2);
  auto x = filled(on, 4, 0), y = filled(on, 4, 0), only_read = filled(on, 4, 2);
  const auto multiply = [](stream& s, std::span<const double> by, std::span<double> v) {
    s.call("multiply", [=] {
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = v[i] * by[i] + 1;
    });
  };
  const task_window w = record(*on.domain, [&] {
    submit(*on.domain, on_number(0), multiply, only_read, x);
    submit(*on.domain, on_number(1), multiply, only_read, y);
  });
  for (int i = 0; i < 3; ++i) {
    submit(*on.domain, on_number(1), add_on_device(1), x);
    w.replay();
    submit(*on.domain, on_number(0), add_on_device(10), y);
    submit(*on.domain, {}, [](std::span<double> v) { v[0] += 1; }, only_read);
  }
  // x: 3, then 4 * 3 + 1, then 14 * 4 + 1; y: 1 + 10, then 11 * 3 + 1 + 10, then 44 * 4 + 1 + 10
  EXPECT_EQ(first(on, x), 57);
  EXPECT_EQ(first(on, y), 187);
}

TEST(spread_window, fails_as_a_whole) {
  hetero_pe on(2);
  auto x = filled(on, 1, 0), y = filled(on, 1, 0);
  bool fails = true;
  const task_window w = record(*on.domain, [&] {
    submit(*on.domain, on_number(1), add_on_device(1), x);
    submit(
        *on.domain, {.name = "divide", .on = device_kind::host, .number = 0},
        [&fails](stream& s, const double* from, double* to) {
          if (fails) throw device_error("no such number");
          s.call("set", [=] { *to = *from + 5; });
        },
        x, write(y));
  });
  ASSERT_EQ(w.num_devices(), 2);
  expect_failed(on, w, x);
  fails = false;
  submit(*on.domain, {}, [](double* v) { *v = 1; }, write(x));
  on.run(await(w.replay()));
  EXPECT_EQ(first(on, y), 7);
}

TEST(spread_window, that_does_not_fit_is_submitted_task_by_task) {
  hetero_pe on(2, 100 * sizeof(double));
  auto x = filled(on, 60, 0), y = filled(on, 60, 0);
  const auto copy = [](stream& s, std::span<const double> from, std::span<double> to) {
    s.copy(to.data(), from.data(), from.size_bytes());
  };
  auto z = filled(on, 40, 3), u = filled(on, 40, 4);
  const task_window both = record(*on.domain, [&] {
    submit(*on.domain, on_number(0), add_on_device(1), x);
    submit(*on.domain, on_number(1), add_on_device(1), y);
    submit(*on.domain, on_number(0), add_on_device(1), y);
  });
  const task_window small = record(*on.domain, [&] {
    submit(*on.domain, on_number(0), copy, z, u);
    submit(*on.domain, on_number(1), add_on_device(1), u);
  });
  EXPECT_EQ(both.num_devices(), 0);
  EXPECT_EQ(small.num_devices(), 2);
  for (int i = 0; i < 4; ++i) both.replay(), small.replay();
  EXPECT_EQ(first(on, x), 4);
  EXPECT_EQ(first(on, y), 8);
  EXPECT_EQ(first(on, u), 4);
}

/// Two windows that each fill both devices, in turns, with tasks of one device in between.
TEST(spread_window, waits_for_room_on_each_device) {
  hetero_pe on(2, 10 * sizeof(double));
  std::vector<hetero_object<double>> x;
  for (int i = 0; i < 6; ++i) x.push_back(filled(on, 9, 0));
  const auto window_of = [&](std::size_t a, std::size_t b) {
    return record(*on.domain, [&] {
      submit(*on.domain, on_number(0), add_on_device(1), x[a]);
      submit(*on.domain, on_number(1), add_on_device(1), x[b]);
    });
  };
  const task_window w[] = {window_of(0, 1), window_of(2, 3), window_of(1, 0)};
  for (int i = 0; i < 20; ++i) {
    for (const task_window& one : w) {
      ASSERT_EQ(one.num_devices(), 2);
      one.replay();
    }
    submit(*on.domain, on_number(i % 2), add_on_device(1), x[4]);
    submit(*on.domain, on_number(1), add_on_device(1), x[5]);
    if (i % 3 == 0) on.pe.run();
  }
  for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(first(on, x[i]), i < 2 ? 40 : 20) << i;
}

TEST(spread_window, is_at_work_on_all_its_devices) {
  hetero_pe on(3);
  ring r(on, 2);
  on.pe.run();
  const auto& places = on.domain->places();
  r.replay();
  on.dispatch(1);
  for (std::size_t i = 1; i <= 2; ++i) EXPECT_EQ(places[i]->num_tasks(), 1) << i;
  EXPECT_EQ(places[3]->num_tasks(), 0);
  on.pe.run();
  for (std::size_t i = 1; i <= 3; ++i) EXPECT_EQ(places[i]->num_tasks(), 0) << i;
}

TEST(spread_window, gives_its_own_copies_back) {
  hetero_pe on(2);
  {
    ring r(on, 2);
    r.replay();
    const task_window last = std::exchange(r.window, {});
    last.replay();
  }
  on.pe.run();
  EXPECT_EQ(on.memory.used().in_use, 0);
  EXPECT_EQ(on.domain->copies().num_objects(), 0);
}

}  // namespace

}  // namespace spread_window_test
