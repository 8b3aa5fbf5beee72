#include <gmock/gmock.h>

#include <numeric>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace hetero_task_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

task<> await_all(std::vector<hetero_task> tasks) {
  for (const hetero_task& t : tasks) co_await t;
}

task<> read_first(hetero_object<double> x, double* into) {
  auto access = x.host(access_mode::read);
  auto view = co_await access;
  *into = view[0];
}

TEST(hetero_task, runs_after_those_before_it_on_the_same_object) {
  hetero_pe on;
  auto x = on.object<double>(10);
  submit(*on.domain, {}, [](std::span<double> v) { std::iota(v.begin(), v.end(), 1.0); }, write(x));
  for (int i = 0; i < 100; ++i) {
    submit(*on.domain, {}, [](std::span<double> v) { v[0] = v[0] * 2 + 1; }, x);
    submit(
        *on.domain, {},
        [](std::span<double> v) {
          v[0] -= 1;
          v[0] /= 2;
        },
        x);
  }
  double first = 0;
  on.run(read_first(x, &first));
  EXPECT_EQ(first, 1.0);
  EXPECT_EQ(on.domain->num_outstanding(), 0);
  EXPECT_EQ(on.pe.queue.operations, 0);
}

TEST(hetero_task, does_not_run_inside_submit) {
  hetero_pe on;
  bool ran = false;
  const hetero_task t = submit(*on.domain, {}, [&ran] { ran = true; });
  EXPECT_FALSE(ran);
  EXPECT_EQ(t.state(), task_state::ready);
  on.run(await_all({t}));
  EXPECT_TRUE(ran);
  EXPECT_EQ(t.state(), task_state::done);
}

TEST(hetero_task, values_are_copied) {
  hetero_pe on;
  auto x = on.object<double>(1);
  double value = 7;
  submit(*on.domain, {}, [](std::span<double> v, double to) { v[0] = to; }, write(x), value);
  value = 8;
  double first = 0;
  on.run(read_first(x, &first));
  EXPECT_EQ(first, 7);
}

TEST(hetero_task, waits_for_tasks_that_share_no_object) {
  hetero_pe on;
  std::vector<int> order;
  std::vector<hetero_task> all;
  for (int i = 0; i < 5; ++i) {
    const std::span<const hetero_task> after = all.empty() ? std::span<const hetero_task>() : std::span(&all.back(), 1);
    const int priority = i;  // the later ones are more urgent
    auto note = [&order, i] { order.push_back(i); };
    all.push_back(submit(*on.domain, {.priority = priority, .after = after}, note));
  }
  on.run(await_all(all));
  EXPECT_THAT(order, testing::ElementsAre(0, 1, 2, 3, 4));
}

TEST(hetero_task, urgent_ones_go_first) {
  hetero_pe on;
  std::vector<int> order;
  std::vector<hetero_task> all;
  for (const int priority : {0, 5, -3, 5, 1}) {
    auto note = [&order, priority] { order.push_back(priority); };
    all.push_back(submit(*on.domain, {.priority = priority}, note));
  }
  on.run(await_all(all));
  EXPECT_THAT(order, testing::ElementsAre(5, 5, 1, 0, -3));
}

TEST(hetero_task, a_failure_reaches_all_that_depend_on_it_and_no_others) {
  hetero_pe on;
  auto x = on.object<double>(1), y = on.object<double>(1);
  submit(*on.domain, {}, [](std::span<double> v, std::span<double> w) { v[0] = w[0] = 1; }, write(x), write(y));
  const hetero_task bad =
      submit(*on.domain, {.name = "divide"}, [](std::span<double>) { throw std::runtime_error("no such number"); }, x);
  const hetero_task reader = submit(*on.domain, {}, [](std::span<const double>) { FAIL(); }, x);
  const hetero_task other = submit(*on.domain, {}, [](std::span<double> v) { v[0] = 2; }, y);
  const hetero_task after = submit(*on.domain, {.after = std::span(&bad, 1)}, [] { FAIL(); });
  for (const hetero_task& t : {bad, reader, after}) {
    try {
      on.run(await_all({t}));
      FAIL() << "nothing was thrown";
    } catch (const error& e) {
      EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("divide"), testing::HasSubstr("no such number"),
                                           testing::HasSubstr("the host")));
    }
    EXPECT_EQ(t.state(), task_state::failed);
  }
  on.run(await_all({other}));
  double first = 0;
  EXPECT_THROW(on.run(read_first(x, &first)), error);
  submit(*on.domain, {}, [](std::span<double> v) { v[0] = 3; }, write(x));  // heals it
  on.run(read_first(x, &first));
  EXPECT_EQ(first, 3);
}

TEST(hetero_task, errors_keep_their_kind) {
  hetero_pe on;
  const hetero_task bad = submit(*on.domain, {}, [] { throw device_error("it is broken"); });
  EXPECT_THROW(on.run(await_all({bad})), device_error);
}

TEST(hetero_task, keeps_a_computed_name) {
  std::string text = "gone";
  const task_name of_array = text.data(), of_pointer = static_cast<const char*>(text.c_str());
  text.assign("text");
  EXPECT_STREQ(of_array.text(), "gone");
  EXPECT_STREQ(of_pointer.text(), "gone");
  hetero_pe on;
  std::vector<hetero_task> all;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "a task with a long computed name, number " + std::to_string(i);
    all.push_back(submit(*on.domain, {.name = name}, [] { throw std::runtime_error("x"); }));
  }
  for (int i = 0; i < 3; ++i) {
    try {
      on.run(await_all({all[static_cast<std::size_t>(i)]}));
      FAIL() << "nothing was thrown";
    } catch (const error& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr("computed name, number " + std::to_string(i) + "'"));
    }
  }
}

TEST(hetero_task, that_throws_no_exception_is_named) {
  hetero_pe on;
  const hetero_task bad = submit(*on.domain, {.name = "thrower"}, [] { throw 42; });
  try {
    on.run(await_all({bad}));
    FAIL() << "nothing was thrown";
  } catch (const error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("'thrower'"), testing::HasSubstr("no std::exception")));
  }
  EXPECT_EQ(on.domain->num_outstanding(), 0);
}

TEST(hetero_task, what_could_never_run_is_refused_at_once) {
  hetero_pe on(1, 1000);
  auto x = on.object<double>(10), large = on.object<double>(1000);
  EXPECT_THROW(submit(*on.domain, {}, [](std::span<const double>) {}, x), usage_error);  // nobody has written it
  EXPECT_THROW(submit(*on.domain, {.on = device_kind::cuda}, add_on_device(1), write(x)), device_error);
  EXPECT_THROW(submit(*on.domain, {}, add_on_device(1), write(large)), out_of_memory);
  EXPECT_THROW(submit(*on.domain, {}, [](std::span<double>) {}, hetero_object<double>()), usage_error);
  EXPECT_EQ(on.domain->num_outstanding(), 0);
}

TEST(hetero_task, why_it_could_run_nowhere_is_said) {
  hetero_pe on(1);
  auto x = on.object<double>(10);
  const auto why = [&](const task_options& o, const auto& f) {
    try {
      submit(*on.domain, o, f, write(x));
    } catch (const device_error& e) {
      return std::string(e.what());
    }
    return std::string("accepted");
  };
  const auto on_host = [](std::span<double> v) { std::ranges::fill(v, 1.0); };
  const device_kind there = on.domain->places()[1]->kind();
  EXPECT_THAT(why({.on = device_kind::cuda}, add_on_device(1)),
              testing::HasSubstr("no device of cuda: start the job with --imbrex-device=cuda"));
  EXPECT_THAT(why({.on = there, .number = 7}, add_on_device(1)), testing::HasSubstr("it asks for number 7 of"));
  EXPECT_EQ(why({.on = device_kind::host, .number = 0}, on_host), "accepted") << "the host is one";
  on.pe.run();
}

TEST(hetero_task, many_readers_then_a_writer) {
  hetero_pe on;
  auto x = on.object<double>(1);
  submit(*on.domain, {}, [](std::span<double> v) { v[0] = 0; }, write(x));
  int reading = 0;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 1000; ++i) {
      submit(
          *on.domain, {},
          [&reading, round](std::span<const double> v) {
            ++reading;
            EXPECT_EQ(v[0], round);
          },
          x);
    }
    submit(
        *on.domain, {},
        [&reading, round](std::span<double> v) {
          EXPECT_EQ(reading, 1000 * (round + 1));
          v[0] += 1;
        },
        x);
  }
  double first = 0;
  on.run(read_first(x, &first));
  EXPECT_EQ(first, 10);
}

TEST(hetero_task, an_object_may_be_passed_twice) {
  hetero_pe on(1);
  auto x = on.object<double>(4);
  submit(*on.domain, {}, [](std::span<double> v) { std::fill(v.begin(), v.end(), 2.0); }, write(x));
  auto square = [](stream& s, std::span<const double> a, std::span<double> b) {
    s.call("square", [a, b] {
      for (std::size_t i = 0; i < a.size(); ++i) b[i] *= a[i];
    });
  };
  submit(*on.domain, {}, square, x, x);
  double first = 0;
  on.run(read_first(x, &first));
  EXPECT_EQ(first, 4);
}

TEST(hetero_task, a_long_chain_of_failures_does_not_exhaust_the_stack) {
  hetero_pe on;
  auto x = on.object<double>(1);
  submit(*on.domain, {}, [](std::span<double>) { throw std::runtime_error("at once"); }, write(x));
  hetero_task last;
  for (int i = 0; i < 100'000; ++i) last = submit(*on.domain, {}, [](std::span<double>) {}, x);
  EXPECT_THROW(on.run(await_all({last})), error);
}

TEST(hetero_task, a_job_may_end_with_tasks_that_have_not_run) {
  auto token = std::make_shared<int>(1);
  {
    hetero_pe on(1);
    auto x = on.object<double>(10);
    submit(*on.domain, {}, [token](std::span<double>) {}, write(x));
    submit(*on.domain, {}, add_on_device(1), x);
    submit(*on.domain, {}, [token](std::span<const double>) {}, x);
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(hetero_task, the_number_of_a_device_without_its_kind_is_a_named_error) {
  hetero_pe on(2);
  try {
    submit(*on.domain, {.name = "astray", .number = 1}, [] {});
    FAIL() << "nothing was thrown";
  } catch (const usage_error& e) {
    EXPECT_NE(std::string(e.what()).find("'astray'"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find(".on"), std::string::npos);
  }
}

}  // namespace

}  // namespace hetero_task_test
