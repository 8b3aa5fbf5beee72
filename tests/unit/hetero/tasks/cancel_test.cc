#include <gmock/gmock.h>

#include <random>

#include "imbrex/base/error.h"
#include "unit/hetero/hetero_fixture.h"

namespace cancel_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

task<> await_all(std::vector<hetero_task> tasks) {
  for (const hetero_task& t : tasks) co_await t;
}

TEST(cancel, keeps_a_task_from_running_and_fails_who_reads_what_it_should_have_written) {
  hetero_pe on(1);
  auto x = on.object<double>(1), y = on.object<double>(1);
  const auto set = [](double to) { return [to](std::span<double> v) { v[0] = to; }; };
  submit(*on.domain, {}, set(1), write(x));
  submit(*on.domain, {}, set(1), write(y));
  const hetero_task first = submit(*on.domain, {.name = "first"}, [](std::span<double>) { FAIL(); }, x);
  const hetero_task behind = submit(*on.domain, {}, [](std::span<const double>) { FAIL(); }, x);
  const hetero_task other = submit(*on.domain, {}, set(2), y);
  EXPECT_TRUE(first.cancel());
  EXPECT_FALSE(first.cancel());
  on.pe.run();
  EXPECT_EQ(first.state(), task_state::failed);
  EXPECT_EQ(behind.state(), task_state::failed);
  EXPECT_EQ(other.state(), task_state::done);
  EXPECT_FALSE(other.cancel());
  EXPECT_EQ(on.domain->failures().size(), 0U);  // nobody has to be told
  try {
    on.run(await_all({behind}));
    FAIL() << "nothing was thrown";
  } catch (const cancelled_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("task 'first'"));
  }
  submit(*on.domain, {}, set(3), write(x));  // heals it
  double found = 0;
  submit(*on.domain, {}, [&found](std::span<const double> v) { found = v[0]; }, x);
  on.pe.run();
  EXPECT_EQ(found, 3);
}

TEST(cancel, of_views_recorded_tasks_and_nothing_does_nothing) {
  hetero_pe on;
  auto x = on.object<double>(1);
  submit(*on.domain, {}, [](std::span<double> v) { v[0] = 1; }, write(x));
  EXPECT_FALSE(hetero_task().cancel());
  hetero_task recorded;
  const task_window w = record(*on.domain, [&] { recorded = submit(*on.domain, {}, [](std::span<double>) {}, x); });
  EXPECT_FALSE(recorded.cancel());
  const hetero_task replay = w.replay();
  EXPECT_FALSE(replay.cancel());
  on.pe.run();
}

/// At random moments, on machines of any kind: what was not cancelled has been done, and only that.
TEST(cancel, at_any_moment_is_all_or_nothing) {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    hetero_options options;
    options.tasks_under_way = 2;
    hetero_pe on(static_cast<int>(seed % 3), 3 * sizeof(double), options);
    on.pe.queue.set_schedule_seed(seed);
    std::mt19937 random(seed);
    std::vector<hetero_object<double>> x;
    std::vector<hetero_task> last;
    std::vector<int> runs(200, 0);
    for (int i = 0; i < 5; ++i) {
      x.push_back(on.object<double>(1));
      submit(*on.domain, {}, [](std::span<double> v) { v[0] = 0; }, write(x.back()));
    }
    std::vector<hetero_task> all;
    std::vector<bool> cancelled(200, false);
    for (std::size_t i = 0; i < 200; ++i) {
      int* const ran = &runs[i];
      const auto& object = x[random() % x.size()];
      const task_options o{.priority = static_cast<int>(random() % 3)};
      if (seed % 3 == 0 || random() % 2 == 0) {
        all.push_back(submit(*on.domain, o, [ran](std::span<double>) { ++*ran; }, write(object)));
      } else {
        const auto there = [ran](stream& s, std::span<double>) { s.call("run", [ran] { ++*ran; }); };
        all.push_back(submit(*on.domain, o, there, write(object)));
      }
      if (random() % 4 == 0) {
        const std::size_t which = random() % all.size();
        if (all[which].cancel()) cancelled[which] = true;
      }
      if (random() % 16 == 0) on.domain->dispatch();
      if (random() % 40 == 0) on.pe.run();
    }
    on.pe.run();
    EXPECT_EQ(on.domain->num_outstanding(), 0U);
    for (std::size_t i = 0; i < 200; ++i) {
      EXPECT_EQ(runs[i], cancelled[i] ? 0 : 1) << i << ", seed " << seed;
      EXPECT_EQ(all[i].state(), cancelled[i] ? task_state::failed : task_state::done);
    }
  }
}

}  // namespace

}  // namespace cancel_test
