#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <mutex>
#include <set>
#include <thread>

#include "imbrex/base/clock.h"
#include "unit/object/job.h"

namespace shared_kernel_test {

// Who runs the work-groups of a kernel on the host is a matter of how long they take, not of how many items there are.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;

std::mutex mutex;
std::set<std::thread::id> threads;

void slow_group(const ix::cpu_group& g, void* const* arguments) {
  const std::int64_t until = ix::now_ns() + 100'000;
  while (ix::now_ns() < until) std::this_thread::yield();
  ++(*static_cast<int* const*>(arguments[0]))[g.id(0)];
  const std::lock_guard lock(mutex);
  threads.insert(std::this_thread::get_id());
}
constexpr ix::kernel<void(int*)> few_slow_items("few_slow_items", {&slow_group}, nullptr, nullptr);

void one_more(const ix::cpu_group& g, void* const* arguments) { ++(*static_cast<int* const*>(arguments[0]))[g.id(0)]; }
constexpr ix::kernel<void(int*)> many_quick_groups("many_quick_groups", {&one_more}, nullptr, nullptr);

constexpr int num_groups = 40;

ix::task<int> slow_items(ix::runtime&) {
  threads.clear();
  ix::hetero_object<int> x(num_groups);
  // Once more where the machine had no core for the others just then.
  for (int attempt = 0; attempt < 100 && threads.size() < 2; ++attempt) {
    ix::submit({}, [](std::span<int> v) { std::fill(v.begin(), v.end(), 0); }, write(x));
    ix::submit({}, few_slow_items, {.groups = {num_groups}}, x);
    auto access = x.host(ix::access_mode::read);
    const auto view = co_await access;
    for (const int n : view) EXPECT_EQ(n, 1);
  }
  EXPECT_GT(threads.size(), 1);
  co_return 0;
}

ix::task<int> quick_groups(ix::runtime&) {
  constexpr int num = 5000, launches = 50;
  ix::hetero_object<int> x(num);
  ix::submit({}, [](std::span<int> v) { std::fill(v.begin(), v.end(), 0); }, write(x));
  for (int i = 0; i < launches; ++i) ix::submit({}, many_quick_groups, {.groups = {num}}, x);
  auto access = x.host(ix::access_mode::read);
  const auto view = co_await access;
  for (const int n : view) EXPECT_EQ(n, launches);
  co_return 0;
}

TEST(shared_kernel, of_few_items_that_take_long_is_run_by_several_pes) {
  EXPECT_EQ(run_job_with({2, 1}, slow_items), 0);
  EXPECT_EQ(run_job_with({4, 1}, slow_items), 0);
}
TEST(shared_kernel, runs_every_group_once) { run_over_all_shapes(quick_groups); }

}  // namespace

}  // namespace shared_kernel_test
