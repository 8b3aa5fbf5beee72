#include <gmock/gmock.h>

#include <random>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"
#include "unit/hetero/windows/failed_replay.h"

namespace task_window_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

using in = std::span<const std::uint64_t>;
using out = std::span<std::uint64_t>;

void add_one(double* x) { x[0] += 1; }

hetero_object<double> zero(hetero_pe& on) {
  auto x = on.object<double>(1);
  submit(*on.domain, {}, [](double* v) { v[0] = 0; }, write(x));
  return x;
}

double value(hetero_pe& on, const hetero_object<double>& x) {
  double v = -1;
  submit(*on.domain, {}, [&v](const double* at) { v = at[0]; }, x);
  on.pe.run();
  return v;
}

TEST(task_window, is_not_run_when_it_is_recorded_and_can_be_run_often) {
  hetero_pe on;
  auto x = zero(on);
  const task_window w = record(*on.domain, [&] {
    for (int i = 0; i < 10; ++i) submit(*on.domain, {}, &add_one, x);
  });
  EXPECT_EQ(w.num_tasks(), 10);
  EXPECT_TRUE(w.in_order());
  EXPECT_EQ(value(on, x), 0);
  for (int i = 0; i < 3; ++i) w.replay();
  submit(*on.domain, {}, [](double* v) { v[0] *= 2; }, x);
  const hetero_task last = w.replay();
  on.run(await(last));
  EXPECT_EQ(last.state(), task_state::done);
  EXPECT_EQ(value(on, x), 70);
}

TEST(task_window, waits_for_tasks_before_and_holds_up_those_behind) {
  hetero_pe on(2);
  auto x = on.object<double>(4), y = on.object<double>(4);
  auto set = [](stream& s, std::span<double> v) { s.call("set", [v] { std::fill(v.begin(), v.end(), 3.0); }); };
  submit(*on.domain, {}, set, write(x));
  const task_window w = record(*on.domain, [&] {
    submit(*on.domain, {}, [](std::span<const double> a, std::span<double> b) { b[0] = a[0] + 1; }, x, write(y));
    submit(*on.domain, {}, [](std::span<double> b) { b[1] = b[2] = b[3] = b[0]; }, y);
  });
  EXPECT_TRUE(w.in_order());
  w.replay();
  submit(*on.domain, {}, add_on_device(10), y);
  submit(*on.domain, {}, add_on_device(1), x);
  EXPECT_EQ(value(on, y), 14);
  w.replay();
  submit(*on.domain, {}, add_on_device(10), y);
  EXPECT_EQ(value(on, y), 15);
}

TEST(task_window, of_tasks_on_devices_is_submitted_task_by_task) {
  hetero_pe on(2);
  auto x = zero(on), y = zero(on);
  std::vector<int> order;
  const task_window w = record(*on.domain, [&] {
    const hetero_task first = submit(*on.domain, {}, add_on_device(1), x);
    submit(*on.domain, {}, &add_one, x);
    submit(*on.domain, {.on = device_kind::host, .number = 1}, add_on_device(5), y);
    submit(*on.domain, {.priority = 5, .after = std::span(&first, 1)}, [&order] { order.push_back(1); });
  });
  EXPECT_FALSE(w.in_order());
  w.replay();
  const hetero_task last = w.replay();
  on.run(await(last));
  EXPECT_EQ(value(on, x), 4);
  EXPECT_EQ(value(on, y), 10);
  EXPECT_EQ(order.size(), 2);
}

/// Steps of a line of objects, each of which reads its neighbours, one window for two steps.
TEST(task_window, on_one_device_runs_there_as_a_whole) {
  constexpr std::size_t width = 7;
  hetero_pe on(1);
  std::vector<hetero_object<double>> now, next;
  std::vector<double> expected(width);
  for (std::size_t i = 0; i < width; ++i) {
    now.push_back(on.object<double>(1));
    next.push_back(on.object<double>(1));
    expected[i] = static_cast<double>(i * i);
    submit(*on.domain, {}, [v = expected[i]](double* x) { *x = v; }, write(now[i]));
  }
  const auto mean = [](stream& s, const double* a, const double* b, const double* c, double* to) {
    s.call("mean", [=] { *to = (*a + *b + *c) / 4; });
  };
  const task_window w = record(*on.domain, [&] {
    for (int step = 0; step < 2; ++step) {
      for (std::size_t i = 0; i < width; ++i) {
        submit(*on.domain, {}, mean, now[(i + width - 1) % width], now[i], now[(i + 1) % width], write(next[i]));
      }
      std::swap(now, next);
    }
  });
  EXPECT_TRUE(w.on_device());
  EXPECT_FALSE(w.in_order());
  for (int i = 0; i < 5; ++i) {
    w.replay();
    submit(*on.domain, {}, [](double* x) { *x += 1; }, now[3]);
    for (int step = 0; step < 2; ++step) {
      const std::vector<double> before = expected;
      for (std::size_t k = 0; k < width; ++k) {
        expected[k] = (before[(k + width - 1) % width] + before[k] + before[(k + 1) % width]) / 4;
      }
    }
    expected[3] += 1;
  }
  on.pe.run();
  std::vector<double> found;
  for (const auto& o : now) found.push_back(value(on, o));
  EXPECT_EQ(found, expected);
  EXPECT_EQ(on.counts().tasks, width + 5 * 2 + width) << "a replay counts as one";
}

TEST(task_window, of_tasks_that_have_to_do_with_each_other_runs_as_a_whole_on_one_of_several_devices) {
  hetero_pe on(3);
  auto x = zero(on), y = zero(on), read_only = zero(on);
  std::vector<int> where;
  auto add = [&where](stream& s, std::span<double> v, std::span<const double>) {
    where.push_back(s.on().number());
    s.call("add", [v] { v[0] += 1; });
  };
  const task_window connected = record(*on.domain, [&] {
    submit(*on.domain, {}, add, x, read_only);
    submit(*on.domain, {}, [](stream& s, double* a, double* b) { s.call("join", [=] { *b = *a += 1; }); }, x, y);
  });
  const task_window apart = record(*on.domain, [&] {
    submit(*on.domain, {}, add, x, read_only);
    submit(*on.domain, {}, add, y, read_only);
  });
  EXPECT_TRUE(connected.on_device());
  EXPECT_FALSE(apart.on_device()) << "what they only read connects no tasks: several devices may run them at once";
  submit(*on.domain, {.on = device_kind::host, .number = 1}, add, x, read_only);
  submit(*on.domain, {.on = device_kind::host, .number = 1}, add, y, read_only);
  on.pe.run();
  for (int i = 0; i < 4; ++i) connected.replay();
  on.pe.run();
  EXPECT_EQ(where, std::vector<int>(6, 1)) << "it goes where its data are";
  EXPECT_EQ(value(on, x), 9);
  EXPECT_EQ(value(on, y), 9);
}

TEST(task_window, that_does_not_fit_as_a_whole_is_submitted_task_by_task) {
  hetero_pe on(1, 64);
  auto x = on.object<double>(6), y = on.object<double>(6);
  for (auto* o : {&x, &y}) {
    submit(*on.domain, {}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 0.0); }, write(*o));
  }
  const task_window w = record(*on.domain, [&] {
    submit(*on.domain, {}, add_on_device(1), x);
    submit(*on.domain, {}, add_on_device(2), y);
  });
  EXPECT_FALSE(w.on_device());
  w.replay();
  w.replay();
  EXPECT_EQ(value(on, x), 2);
  EXPECT_EQ(value(on, y), 4);
}

TEST(task_window, on_a_device_fails_as_a_whole) {
  hetero_pe on(1);
  auto x = zero(on), y = zero(on);
  bool fails = true;
  const task_window w = record(*on.domain, [&] {
    submit(*on.domain, {}, add_on_device(1), x);
    submit(
        *on.domain, {.name = "divide"},
        [&fails](stream& s, double* v) {
          if (fails) throw device_error("no such number");
          s.call("set", [v] { *v = 5; });
        },
        write(y));
  });
  ASSERT_TRUE(w.on_device());
  expect_failed(on, w, x);
  x = zero(on);
  fails = false;
  auto z = zero(on);
  const task_window good = record(*on.domain, [&] { submit(*on.domain, {}, add_on_device(1), z); });
  on.run(await(good.replay()));
  EXPECT_EQ(value(on, z), 1);
}

TEST(task_window, orders_an_object_and_its_slices) {
  hetero_pe on;
  auto x = on.object<double>(4);
  const auto a = x.slice(0, 2), b = x.slice(2, 2);
  const task_window w = record(*on.domain, [&] {
    submit(*on.domain, {}, [](double* v) { v[0] = v[1] = 1; }, write(a));
    submit(*on.domain, {}, [](double* v) { v[0] = v[1] = 2; }, write(b));
    submit(*on.domain, {}, [](double* v) { v[0] = v[1] + v[2] + v[3]; }, x);
  });
  EXPECT_FALSE(w.in_order());
  w.replay();
  w.replay();
  EXPECT_EQ(value(on, x), 5);
}

TEST(task_window, fails_as_a_whole) {
  hetero_pe on(1);
  auto x = zero(on), y = zero(on);
  bool fails = true;
  for (const bool on_device : {false, true}) {
    const task_window w = record(*on.domain, [&] {
      submit(
          *on.domain, {.name = "divide"},
          [&fails](double*) {
            if (fails) throw device_error("no such number");
          },
          write(x));
      if (on_device) submit(*on.domain, {}, add_on_device(1), y);
    });
    fails = true;
    expect_failed(on, w, x);
    fails = false;
    const hetero_task good = w.replay();
    on.run(await(good));
    EXPECT_EQ(good.state(), task_state::done);
  }
}

TEST(task_window, refuses_what_cannot_be_recorded) {
  hetero_pe on;
  auto x = zero(on);
  const hetero_task outside = submit(*on.domain, {}, &add_one, x);
  hetero_task inside;
  const task_window w = record(*on.domain, [&] {
    inside = submit(*on.domain, {}, &add_one, x);
    EXPECT_THROW((void)x.host(access_mode::read), usage_error);
    EXPECT_THROW(submit(*on.domain, {.after = std::span(&outside, 1)}, &add_one, x), usage_error);
    EXPECT_THROW(record(*on.domain, [] {}), usage_error);
  });
  EXPECT_EQ(w.num_tasks(), 1);
  EXPECT_THROW(submit(*on.domain, {.after = std::span(&inside, 1)}, &add_one, x), usage_error);
  EXPECT_THROW(on.run(await(inside)), usage_error);
  EXPECT_THROW(record(*on.domain,
                      [&] {
                        submit(*on.domain, {}, &add_one, x);
                        throw std::runtime_error("not this way");
                      }),
               std::runtime_error);
  auto nothing = on.object<double>(1);
  const task_window reads = record(*on.domain, [&] { submit(*on.domain, {}, &add_one, nothing); });
  EXPECT_THROW(reads.replay(), usage_error);
  EXPECT_THROW(task_window().replay(), usage_error);
  w.replay();
  EXPECT_EQ(value(on, x), 2);
  EXPECT_EQ(on.domain->num_outstanding(), 0);
}

TEST(task_window, lets_others_run_in_between) {
  hetero_pe on;
  auto x = zero(on), y = zero(on);
  const task_window w = record(*on.domain, [&] {
    for (int i = 0; i < 100'000; ++i) {
      submit(*on.domain, {}, [](double* v) { v[0] = v[0] * 0.5 + 1; }, x);
    }
  });
  const hetero_task end = w.replay();
  const hetero_task other = submit(*on.domain, {}, &add_one, y);
  bool before = false;
  submit(*on.domain, {.after = std::span(&other, 1)}, [&] { before = !end.done(); });
  on.pe.run();
  EXPECT_TRUE(before);
  EXPECT_EQ(value(on, x), 2);
}

TEST(task_window, lives_until_its_last_replay) {
  auto token = std::make_shared<int>(1);
  {
    hetero_pe on;
    {
      auto x = zero(on);
      task_window w = record(*on.domain, [&] { submit(*on.domain, {}, [token](double*) {}, x); });
      const task_window second = w;
      w = {};
      second.replay();
    }
    EXPECT_GT(token.use_count(), 1);
    on.pe.run();
    EXPECT_EQ(token.use_count(), 1);
    EXPECT_EQ(on.memory.used().in_use, 0);
    auto x = zero(on);
    record(*on.domain, [&] { submit(*on.domain, {}, [token](double*) {}, x); }).replay();
  }
  EXPECT_EQ(token.use_count(), 1);
}

/// Windows of tasks on parts of objects, with other tasks in between, against sequential execution.
void run_windows(int devices, unsigned seed) {
  constexpr std::size_t elements = 8, num_objects = 4;
  hetero_pe on(devices);
  on.pe.queue.set_schedule_seed(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  std::vector<hetero_object<std::uint64_t>> objects;
  std::vector<std::vector<std::uint64_t>> expected(num_objects, std::vector<std::uint64_t>(elements, 7));
  for (std::size_t i = 0; i < num_objects; ++i) {
    objects.push_back(on.object<std::uint64_t>(elements));
    submit(*on.domain, {}, [](out v) { std::fill(v.begin(), v.end(), 7); }, write(objects.back()));
  }
  enum class where { on_host, on_devices, either };
  struct step {
    std::size_t from, to, offset, count, id;
    bool on_device;
    void run(in a, out b) const {
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = (b[i] ^ (a[i] * 0x9e3779b97f4a7c15)) + id;
    }
  };
  const auto some = [&](std::size_t n, bool slices, where at) {
    std::vector<step> steps;
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t from = pick(num_objects), to = (from + 1 + pick(num_objects - 1)) % num_objects;
      const std::size_t offset = slices && pick(2) == 0 ? 4 * pick(2) : 0, count = offset > 0 || slices ? 4 : elements;
      const bool there = devices > 0 && (at == where::on_devices || (at == where::either && pick(2) == 0));
      steps.push_back({from, to, offset, count, random(), there});
    }
    return steps;
  };
  const auto submit_all = [&](const std::vector<step>& steps) {
    for (const step& s : steps) {
      const auto a = objects[s.from].slice(s.offset, s.count), b = objects[s.to].slice(s.offset, s.count);
      if (s.on_device) {
        submit(*on.domain, {}, [s](stream& q, in x, out y) { q.call("s", [=] { s.run(x, y); }); }, a, b);
      } else {
        submit(*on.domain, {}, [s](in x, out y) { s.run(x, y); }, a, b);
      }
    }
  };
  const auto follow = [&](const std::vector<step>& steps) {
    for (const step& s : steps) {
      s.run(in(expected[s.from]).subspan(s.offset, s.count), out(expected[s.to]).subspan(s.offset, s.count));
    }
  };
  std::vector<std::vector<step>> contents;
  std::vector<task_window> windows;
  for (int i = 0; i < 6; ++i) {
    const where at[] = {where::on_host, where::either, where::on_devices};
    contents.push_back(some(1 + pick(i < 4 ? 6 : 20), i % 2 == 1, at[i / 2]));
    windows.push_back(record(*on.domain, [&] { submit_all(contents.back()); }));
  }
  for (int i = 0; i < 60; ++i) {
    const std::size_t which = pick(8);
    if (which < 6) {
      windows[which].replay();
      follow(contents[which]);
    } else {
      const auto steps = some(1, which == 7, where::either);
      submit_all(steps);
      follow(steps);
    }
    if (pick(10) == 0) on.pe.run();
  }
  std::vector<std::vector<std::uint64_t>> found(num_objects);
  for (std::size_t i = 0; i < num_objects; ++i) {
    submit(*on.domain, {}, [&found, i](in v) { found[i].assign(v.begin(), v.end()); }, objects[i]);
  }
  on.pe.run();
  ASSERT_EQ(found, expected) << devices << " devices, seed " << seed;
}

TEST(task_window, random_ones_equal_sequential_execution) {
  for (const int devices : {0, 1, 2}) {
    for (unsigned seed = 1; seed <= 150; ++seed) run_windows(devices, seed);
  }
}

}  // namespace

}  // namespace task_window_test
