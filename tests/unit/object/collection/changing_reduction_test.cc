#include <gtest/gtest.h>
#include <imbrex/imbrex.h>
#include <imbrex/pe/scheduler.h>

#include <cstdint>

#include "unit/object/job.h"

namespace changing_reduction_test {

/// What reductions cost in arrays that change, and after they have come to rest.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using imbrex_test::run_over_all_shapes;

struct grain : ix::chare<grain, ix::index1d> {
  void count() { contribute(1, ix::sum); }
  void go(int to) { migrate_to(to); }
  void leave() { destroy(); }
  template <class Archive>
  void serialize(Archive&) {}
};

struct meter : ix::chare<meter, ix::index1d> {
  std::uint64_t performed() { return ix::scheduler::current().message_counts().processed; }
};

using grains = ix::array_proxy<grain>;

ix::task<> reduce(grains a, int times, int expected) {
  for (int k = 0; k < times; ++k) {
    a.broadcast<&grain::count>();
    const int got = co_await a.reduction<int>();
    EXPECT_EQ(got, expected);
  }
}

/// Messages performed by all PEs for ten broadcasts with reductions.
ix::task<std::uint64_t> cost(ix::runtime& rt, ix::array_proxy<meter> meters, grains a, int expected) {
  std::uint64_t performed = 0;
  co_await rt.quiescence();
  for (int p = 0; p < rt.num_pes(); ++p) performed -= co_await meters[p].call<&meter::performed>();
  co_await reduce(a, 10, expected);
  co_await rt.quiescence();
  for (int p = 0; p < rt.num_pes(); ++p) performed += co_await meters[p].call<&meter::performed>();
  co_return performed;
}

ix::task<int> comes_to_rest(ix::runtime& rt) {
  const int n = 8 * rt.num_pes();
  const auto meters = rt.create_group<meter>();
  const auto a = rt.create_array<grain>(ix::index1d(n));
  const std::uint64_t before = co_await cost(rt, meters, a, n);
  a[0].send<&grain::go>(rt.num_pes() - 1);
  co_await rt.quiescence();
  co_await reduce(a, 40, n);
  const std::uint64_t moved = co_await cost(rt, meters, a, n);
  EXPECT_EQ(moved, before);
  a[1].erase();
  co_await rt.quiescence();
  co_await reduce(a, 40, n - 1);
  co_await a.insert_on(rt.num_pes() / 2, 1);
  co_await reduce(a, 40, n);
  const std::uint64_t ended = co_await cost(rt, meters, a, n);
  EXPECT_EQ(ended, before);
  co_return 0;
}

TEST(changing_array, costs_what_it_did_once_it_has_come_to_rest) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 1}, {5, 1}, {16, 1}, {2, 3}, {1, 8}})
    EXPECT_EQ(imbrex_test::run_job_with(s, comes_to_rest), 0) << to_text(s);
}

/// Moves begin again just when the numbers are being fixed.
ix::task<int> restless(ix::runtime& rt) {
  const int n = 12;
  const auto a = rt.create_array<grain>(ix::index1d(n));
  ix::random_sequence random(5);
  for (int k = 0; k < 150; ++k) {
    a.broadcast<&grain::count>();
    if (k % 17 < 2)
      a[static_cast<int>(random.below(n))].send<&grain::go>(
          static_cast<int>(random.below(static_cast<std::uint64_t>(rt.num_pes()))));
    const int got = co_await a.reduction<int>();
    EXPECT_EQ(got, n);
  }
  co_return 0;
}

TEST(changing_array, counts_right_when_it_changes_again_and_again) { run_over_all_shapes(restless); }

/// How long a reduction over many elements that were inserted takes, in contributions looked at: not quadratic.
ix::task<int> grown(ix::runtime& rt) {
  constexpr int n = 40000;
  const auto a = rt.create_array<grain>(ix::empty_array<ix::index1d>());
  for (int i = 0; i < n; ++i) a.insert(i);
  co_await rt.quiescence();
  co_await reduce(a, 3, n);
  for (int i = 0; i < n; i += 2) a[i].erase();
  co_await rt.quiescence();
  co_await reduce(a, 3, n / 2);
  for (int i = 0; i < n; i += 2) a.insert(i);
  co_await rt.quiescence();
  co_await reduce(a, 3, n);
  co_return 0;
}

TEST(changing_array, may_have_many_elements) { EXPECT_EQ(imbrex_test::run_job_with(job_shape{2, 1}, grown), 0); }

}  // namespace

}  // namespace changing_reduction_test
