#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "unit/hetero/hetero_fixture.h"

namespace task_bundle_test {

// Tasks that shall run at one place.
namespace {

using namespace imbrex;
using namespace imbrex_test;

class task_bundles : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(of_policies, task_bundles, testing::Values("locality", "round_robin", "shortest_finish"));

/// Independent tasks of four bundles by turns: on which devices those of each have run.
TEST_P(task_bundles, run_where_the_first_of_them_runs) {
  constexpr int num_bundles = 4, num_tasks = 200;
  hetero_pe on(3, 1 << 20, {.policy = GetParam()});
  std::vector<std::set<int>> ran(num_bundles);
  std::set<int> alone;
  {
    std::vector<task_bundle> bundles(num_bundles);
    for (int i = 0; i < num_tasks; ++i) {
      const auto noted = [&ran, i](stream& s, std::span<double> x) {
        ran[static_cast<std::size_t>(i % num_bundles)].insert(s.on().number());
        s.call("noted", [x] { x[0] = 1; });
      };
      submit(*on.domain, {.bundle = &bundles[static_cast<std::size_t>(i % num_bundles)]}, noted,
             write(on.object<double>(10)));
      const auto free = [&alone](stream& s, std::span<double>) { alone.insert(s.on().number()); };
      submit(*on.domain, {}, free, write(on.object<double>(10)));
    }
  }
  on.pe.run();
  for (const std::set<int>& where : ran) EXPECT_EQ(where.size(), 1U);
  EXPECT_EQ(alone.size(), 3U);
  EXPECT_EQ(on.counts().tasks, 2U * num_tasks);
}

TEST_P(task_bundles, what_cannot_run_there_runs_elsewhere) {
  hetero_pe on(2, 1000, {.policy = GetParam()});
  task_bundle together;
  int on_device = 0, on_host = 0;
  const auto device = [&](stream&, std::span<double>) { ++on_device; };
  const auto host = [&](std::span<double>) { ++on_host; };
  submit(*on.domain, {.on = device_kind::host, .number = 1, .bundle = &together}, device, write(on.object<double>(10)));
  on.pe.run();
  submit(*on.domain, {.bundle = &together}, host, write(on.object<double>(10)));
  submit(*on.domain, {.bundle = &together}, codelet{host, device}, write(on.object<double>(1000)));  // too large
  submit(*on.domain, {.on = device_kind::host, .number = 0, .bundle = &together}, device, write(on.object<double>(10)));
  on.pe.run();
  EXPECT_EQ(on_device, 2);
  EXPECT_EQ(on_host, 2);
}

TEST(task_bundle, is_of_one_domain) {
  hetero_pe one;
  hetero_domain other(one.pe.queue, one.host, {});
  task_bundle together;
  const auto nothing = [](std::span<double>) {};
  submit(*one.domain, {.bundle = &together}, nothing, write(one.object<double>(1)));
  EXPECT_THROW(submit(other, {.bundle = &together}, nothing, write(hetero_object<double>(other, 1))), usage_error);
  one.pe.run();
}

}  // namespace

}  // namespace task_bundle_test
