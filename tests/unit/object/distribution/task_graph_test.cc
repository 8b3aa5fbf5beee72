// Graphs over ranks against the same tasks one after the other.
#include <gmock/gmock.h>
#include <imbrex/task_graph.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>

#include "unit/object/distribution/graph_plan.h"
#include "unit/object/job.h"

namespace task_graph_test {

using namespace imbrex;
using namespace imbrex_test;
using testing::HasSubstr;

namespace {

void submit_step(task_graph& g, distributed<std::uint64_t>& x, const step& s) {
  const graph_task_options o{.name = "step", .rank = s.rank};
  switch (s.kind) {
    case 0: g.submit(o, &set, write(x(s.c)), s.value); break;
    case 1: g.submit(o, &stir, x(s.c), s.value); break;
    case 2: g.submit(o, &add, x(s.a), x(s.c)); break;
    case 3: g.submit(o, &add_both, x(s.a), x(s.b), x(s.c)); break;
    case 4: g.submit(o, &cross, x(s.b), x(s.c)); break;
    case 5: g.submit(o, &from, x(s.a), write(x(s.c))); break;
    case 10: g.migrate(x(s.c), static_cast<rank_id>(s.value % static_cast<unsigned>(g.num_ranks()))); break;
    case 6: g.submit(o, &plus, x(s.a), commute(x(s.c)), s.value); break;
    default: g.submit(o, &plus, x(s.a), reduce(x(s.c), sum).over(1 + s.value % 3), s.value);
  }
}

task<std::vector<numbers>> random_graph(task_graph& g, plan p) {
  const auto sizes = [&](const index1d& i) { return size_of(p, i.x); };
  distributed<std::uint64_t> x(g, p.num_objects, sizes, anyhow{p.seed});
  for (const step& s : steps_of(p, g.num_ranks())) {
    submit_step(g, x, s);
    if ((s.value + static_cast<unsigned>(g.rank())) % 9 == 0) g.evict(x(s.a));
    EXPECT_LE(g.domain().num_outstanding(), static_cast<std::uint64_t>(p.throttle) + 50);
    co_await g.fewer_tasks_than(static_cast<std::uint64_t>(p.throttle));
  }
  // All to all ranks.
  std::vector<numbers> result(static_cast<std::size_t>(p.num_objects));
  for (rank_id r = 0; r < g.num_ranks(); ++r) {
    for (int i = 0; i < p.num_objects; ++i) {
      numbers* const to = &result[static_cast<std::size_t>(i)];
      g.submit({.name = "collect", .rank = r}, [to](in v) { to->assign(v.begin(), v.end()); }, x(i));
    }
  }
  co_await g.done();
  EXPECT_EQ(result, one_after_the_other(p, g.num_ranks())) << "rank " << g.rank() << ", seed " << p.seed;
  EXPECT_EQ(g.domain().num_outstanding(), 0U);
  co_return result;
}

task<int> random_graphs(runtime& rt, std::uint64_t first_seed, int num_graphs, int throttle) {
  for (int k = 0; k < num_graphs; ++k) {
    const plan p{.seed = first_seed + static_cast<std::uint64_t>(k), .throttle = throttle};
    const auto result = co_await run_graph<&random_graph>(rt, p);
    EXPECT_EQ(result, one_after_the_other(p, rt.num_ranks())) << p.seed;
  }
  co_return 0;
}

class graphs : public testing::TestWithParam<job_shape> {};
INSTANTIATE_TEST_SUITE_P(of_jobs, graphs, testing::ValuesIn(all_shapes()));

TEST_P(graphs, at_random_give_what_one_task_after_the_other_gives) {
  EXPECT_EQ(run_job_with(GetParam(), &random_graphs, std::uint64_t{GetParam().seed * 100}, 6, 1'000'000), 0);
}

TEST(task_graph, of_many_ranks_and_schedules) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const job_shape s{.pes = 1 + static_cast<int>(seed % 2),
                      .ranks = 2 + static_cast<int>(seed % 5),
                      .seed = seed,
                      .delay_us = seed % 3 == 0 ? 200 : 0};
    EXPECT_EQ(run_job_with(s, &random_graphs, seed * 1000, 3, seed % 2 == 0 ? 20 : 1'000'000), 0) << to_text(s);
  }
}

// ------------------------------------------------------------------------------------------------ owners that change

task<> owners_change(task_graph& g) {
  distributed<std::uint64_t> x(g, 4, 500, map::constant{0});
  const int n = g.num_ranks();
  for (int i = 0; i < 3; ++i) g.submit({}, &set, write(x(i)), std::uint64_t{1});
  for (int i = 0; i < 4; ++i) g.migrate(x(i), (i + 1) % n);
  EXPECT_EQ(x(3).owner(), 4 % n);
  rank_id ran[4] = {-1, -1, -1, -1};
  const auto stir_here = [&ran](out v, int i, rank_id r) {
    ran[i] = r;
    stir(v, 2);
  };
  for (int i = 0; i < 3; ++i) g.submit({}, stir_here, x(i), i, g.rank());
  g.submit({}, &set, write(x(3)), std::uint64_t{7});  // never written before
  co_await g.done();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ran[i], g.rank() == (i + 1) % n ? g.rank() : -1);
  // Once to the new owner; and what the old one kept is worth nothing now.
  const auto mine = static_cast<std::uint64_t>((1 % n == g.rank()) + (2 % n == g.rank()) + (3 % n == g.rank()));
  EXPECT_EQ(g.num_received(), g.rank() == 0 ? 0U : mine);
  EXPECT_EQ(g.num_kept(), 0U);
  for (int i = 0; i < 4; ++i) g.migrate(x(i), 0);  // and back
  for (int i = 0; i < 4; ++i) {
    const auto v = co_await values(g, x(i));
    EXPECT_EQ(v[9], i == 3 ? 16U : 10U * 3 + 2 + 9);
  }
  EXPECT_THROW(g.migrate(x(0), n), usage_error);
}
task<int> run_owners_change(runtime& rt) {
  co_await run_graph<&owners_change>(rt);
  co_return 0;
}

TEST(task_graph, objects_go_to_another_owner_with_their_data) {
  for (const int ranks : {1, 2, 3, 5}) EXPECT_EQ(run_job_with({.ranks = ranks}, &run_owners_change), 0) << ranks;
}

// ------------------------------------------------------------------------------------------------ reductions

task<double> norms(task_graph& g, int n) {
  distributed<double> x(g, n, 100, map::round_robin{}), total(g, 2, 1, map::constant{g.num_ranks() - 1});
  const auto begin = [](std::span<double> v, int i) { std::ranges::fill(v, 1.0 + i); };
  const auto add_up = [](std::span<const double> v, std::span<double> s) {
    for (const double e : v) s[0] += e;
  };
  const auto greatest = [](std::span<const double> v, double* most) { *most = std::max(*most, v[99]); };
  const auto halve = [](std::span<double> v) {
    for (double& e : v) e /= 2;
  };
  for (int i = 0; i < n; ++i) g.submit({}, begin, write(x(i)), i);
  int rounds = 0;
  double sum_of_all = 0;
  for (double most = 100; most >= 1; ++rounds) {
    const auto clear = [](std::span<double> s) { s[0] = 0; };
    g.submit({}, clear, write(total(0)));
    g.submit({}, clear, write(total(1)));
    for (int i = 0; i < n; ++i) {
      g.submit({}, halve, x(i));
      g.submit({}, add_up, x(i), reduce(total(0), sum));
      g.submit({}, greatest, x(i), reduce(total(1), max));
    }
    EXPECT_THROW(total.here(0), usage_error);
    const auto first = co_await values(g, total(0));
    const auto second = co_await values(g, total(1));
    sum_of_all = first[0];
    most = second[0];
    EXPECT_EQ(sum_of_all, 100 * n * (n + 1) / 2.0 / (2 << rounds)) << "rank " << g.rank();
  }
  co_await g.done();
  // In each round a rank sends what its tasks have added up, and is sent the two results.
  const int r = g.rank(), last = g.num_ranks() - 1;
  if (last > 0 && r != last) {
    EXPECT_GE(g.num_received(), 2U * static_cast<unsigned>(rounds));
    EXPECT_LE(g.num_received(), 8U * static_cast<unsigned>(rounds));
  }
  co_return sum_of_all;
}
task<int> run_norms(runtime& rt) {
  const double left = co_await run_graph<&norms>(rt, 12);
  EXPECT_LT(left, 1200);
  co_return 0;
}

TEST(task_graph, reduces_where_data_are_and_ends_a_loop_by_the_result) {
  for (const int ranks : {1, 2, 3, 7}) EXPECT_EQ(run_job_with({.pes = 2, .ranks = ranks}, &run_norms), 0) << ranks;
}

task<> reductions_that_nobody_reads(task_graph& g) {
  const auto one_more = [](std::span<std::uint64_t> v) { ++v[0]; };
  distributed<std::uint64_t> x(g, 3, 1, map::round_robin{});
  for (int i = 0; i < 9; ++i) g.submit({.rank = i % g.num_ranks()}, one_more, reduce(x(i % 3), sum));
  co_await g.done();
  const int mine = g.rank();
  if (mine < 3) {  // done() has combined them, also on ranks that nobody asked
    const auto here = x.here(mine);
    auto access = here.host(access_mode::read);
    const auto view = co_await access;
    EXPECT_EQ(view[0], 3U);
  }
  for (int i = 0; i < 9; ++i) g.submit({.rank = i % g.num_ranks()}, one_more, reduce(x(i % 3), sum));
}
task<int> run_reductions_that_nobody_reads(runtime& rt) {
  co_await run_graph<&reductions_that_nobody_reads>(rt);
  co_return 0;
}

TEST(task_graph, what_nobody_reads_is_combined_by_done_or_goes) {
  for (const int ranks : {1, 3}) EXPECT_EQ(run_job_with({.ranks = ranks}, &run_reductions_that_nobody_reads), 0);
}

task<> reduces_into_what_it_uses(task_graph& g) {
  distributed<std::uint64_t> x(g, 2, 1);
  for (int i = 0; i < 2; ++i) g.submit({}, &set, write(x(i)), std::uint64_t{1});
  const auto both = [](out, out) { FAIL(); };
  const auto submit_both = [&](const auto& a, const auto& b) { g.submit({.name = "both"}, both, a, b); };
  EXPECT_THAT([&] { submit_both(reduce(x(1), sum), x(1)); },
              testing::ThrowsMessage<usage_error>(HasSubstr("task 'both' reduces into object 1 of the graph's 1.")));
  EXPECT_THROW(submit_both(x(0), reduce(x(0), sum)), usage_error);
  EXPECT_THROW(submit_both(reduce(x(0), sum), reduce(x(0), max)), usage_error);
  co_await g.done();
}
task<int> reduce_into_what_they_use(runtime& rt) {
  co_await run_graph<&reduces_into_what_it_uses>(rt);
  co_return 0;
}

TEST(task_graph, refuses_tasks_that_use_what_they_reduce_into) {
  for (const int ranks : {1, 2}) EXPECT_EQ(run_job_with({.ranks = ranks}, &reduce_into_what_they_use), 0);
}

task<> failing_reduction(task_graph& g) {
  distributed<std::uint64_t> x(g, 1, 1);
  const auto fails = [](std::span<std::uint64_t>, rank_id r) {
    if (r == 1) throw std::runtime_error("no sum");
  };
  for (rank_id r = 0; r < g.num_ranks(); ++r) g.submit({.name = "part", .rank = r}, fails, reduce(x(0), sum), r);
  bool told = false;
  try {
    co_await values(g, x(0));
  } catch (const remote_error& e) {
    told = std::string(e.what()).find("no sum") != std::string::npos;
  }
  EXPECT_TRUE(told) << "rank " << g.rank();
}
task<int> run_failing_reduction(runtime& rt) {
  std::string text;
  try {
    co_await run_graph<&failing_reduction>(rt);
  } catch (const remote_error& e) {
    text = e.what();
  }
  EXPECT_THAT(text, HasSubstr("no sum"));  // also when readers have been told
  co_return 0;
}

TEST(task_graph, a_part_of_a_reduction_that_fails_reaches_all_who_ask) {
  EXPECT_EQ(run_job_with({.ranks = 3}, &run_failing_reduction), 0);
}

// ------------------------------------------------------------------------------------------------ what travels

task<> once_to_each_reader(task_graph& g) {
  distributed<std::uint64_t> x(g, 8, 1000, map::constant{0}), y(g, 8, 1, map::round_robin{});
  for (int i = 0; i < 8; ++i) {
    g.submit({}, &set, write(x(i)), std::uint64_t{1});
    g.submit({}, &set, write(y(i)), std::uint64_t{2});
  }
  for (int k = 0; k < 10; ++k) {
    for (int i = 0; i < 8; ++i) g.submit({}, &add, x(0), y(i));
  }
  co_await g.done();
  const bool reads_there = g.rank() != 0 && g.rank() < 8;
  EXPECT_EQ(g.num_received(), reads_there ? 1U : 0U);
  EXPECT_EQ(g.num_kept(), reads_there ? 1U : 0U);
  g.submit({}, &stir, x(0), std::uint64_t{3});  // what is kept is worth nothing now
  EXPECT_EQ(g.num_kept(), 0U);
  EXPECT_EQ(x.here(0).exists(), g.rank() == 0);
  for (int i = 0; i < 8; ++i) g.submit({}, &add, x(0), y(i));
  co_await g.done();
  EXPECT_EQ(g.num_received(), reads_there ? 2U : 0U);
}
task<int> run_once_to_each_reader(runtime& rt) {
  co_await run_graph<&once_to_each_reader>(rt);
  co_return 0;
}

TEST(task_graph, brings_data_once_to_each_rank_that_reads_them) {
  for (const int ranks : {1, 2, 3, 5}) EXPECT_EQ(run_job_with({.ranks = ranks}, &run_once_to_each_reader), 0);
}

/// One object to all ranks, that of rank 1: packed with its message, and lent.
task<> to_all(task_graph& g, int size) {
  const int n = g.num_ranks();
  distributed<std::uint64_t> x(g, 1, static_cast<std::size_t>(size), map::constant{1}), y(g, n, 1, map::round_robin{});
  for (int i = 0; i < n; ++i) g.submit({}, &set, write(y(i)), std::uint64_t{2});
  for (std::uint64_t k = 1; k <= 3; ++k) {
    g.submit({}, &set, write(x(0)), k);
    for (int i = 0; i < n; ++i) g.submit({}, &add, x(0), y(i));
    co_await g.done();
    EXPECT_LE(g.num_sent(), 4 * k);
    EXPECT_EQ(g.num_received(), g.rank() == 1 ? 0 : k);
  }
  const auto v = co_await values(g, y(n - 1));
  EXPECT_EQ(v[0], ((2U * 5 + 1) * 5 + 2) * 5 + 3);
}
task<int> run_to_all(runtime& rt) {
  co_await run_graph<&to_all>(rt, 3);
  co_await run_graph<&to_all>(rt, 5000);
  co_return 0;
}

TEST(task_graph, brings_data_to_all_ranks_along_a_tree) {
  for (const int ranks : {2, 6, 27}) EXPECT_EQ(run_job_with({.ranks = ranks}, &run_to_all), 0);
  EXPECT_EQ(run_job_with({.ranks = 9, .seed = 2, .delay_us = 50}, &run_to_all), 0);
}
TEST(task_graph, of_more_ranks_than_one_sends_to) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const job_shape s{.ranks = 9 + 4 * static_cast<int>(seed), .seed = seed, .delay_us = seed % 2 == 0 ? 50 : 0};
    EXPECT_EQ(run_job_with(s, &random_graphs, seed * 77'000, 2, 1'000'000), 0) << to_text(s);
  }
}

task<int> pieces(task_graph& g, int factor) {
  distributed<std::uint64_t, index3d> x(g, {3, 4, 5}, 10, map::block_cyclic{2, 1});
  for (int z = 0; z < 5; ++z)
    for (int y = 0; y < 4; ++y)
      for (int i = 0; i < 3; ++i) {
        const auto ref = x(i, y, z);
        EXPECT_EQ(ref.owner(), (i % 2) % g.num_ranks());
        g.submit({}, &set, write(ref), static_cast<std::uint64_t>(factor));
      }
  EXPECT_THROW(static_cast<void>(g.fewer_tasks_than(0)), usage_error);
  EXPECT_THROW(x(3, 0, 0), usage_error);
  EXPECT_THROW(x(0, -1, 0), usage_error);
  EXPECT_THROW(g.submit({.rank = g.num_ranks()}, &stir, x(0, 0, 0), std::uint64_t{1}), usage_error);
  co_await g.done();
  const auto mine = x.here(0, 0, 0);
  if (g.rank() == 0) {
    auto access = mine.host(access_mode::read);
    const auto view = co_await access;
    EXPECT_EQ(view[9], static_cast<std::uint64_t>(factor) + 9);
  }
  co_return g.rank() * 100 + factor;
}
task<int> several_at_once(runtime& rt) {
  std::vector<task<int>> graphs;
  for (int k = 0; k < 4; ++k) graphs.push_back(run_graph<&pieces>(rt, k));
  auto all = when_all(std::move(graphs));
  const std::vector<int> results = co_await std::move(all);
  EXPECT_THAT(results, testing::ElementsAre(0, 1, 2, 3));
  co_return 0;
}

TEST(task_graph, several_run_at_a_time) {
  for (const int ranks : {1, 2, 4}) EXPECT_EQ(run_job_with({.ranks = ranks}, &several_at_once), 0);
}

// ------------------------------------------------------------------------------------------------ failures

void fails(out) { throw std::runtime_error("the sun is too bright"); }

task<> with_a_failing_task(task_graph& g) {
  distributed<std::uint64_t> x(g, g.num_ranks(), 2000, map::round_robin{});
  for (int i = 0; i < g.num_ranks(); ++i) g.submit({}, &set, write(x(i)), std::uint64_t{1});
  g.submit({.name = "burn"}, &fails, x(g.num_ranks() - 1));
  for (int i = 0; i + 1 < g.num_ranks(); ++i) g.submit({.name = "after"}, &add, x(g.num_ranks() - 1), x(i));
  const hetero_task last = g.submit({.name = "last"}, &stir, x(0), std::uint64_t{2});
  if (g.rank() == 0) {
    std::string text;
    try {
      co_await last;
    } catch (const std::exception& e) {
      text = e.what();
    }
    EXPECT_THAT(text, HasSubstr("the sun is too bright"));
  }
}
task<int> sees_the_failure(runtime& rt) {
  std::string text;
  try {
    co_await run_graph<&with_a_failing_task>(rt);
  } catch (const std::exception& e) {
    text = e.what();
  }
  EXPECT_THAT(text, HasSubstr("the sun is too bright"));
  co_await run_graph<&once_to_each_reader>(rt);  // the next is none the worse
  co_return 0;
}

TEST(task_graph, a_task_that_fails_is_told_on_every_rank_that_reads_its_data) {
  for (const int ranks : {2, 3, 5}) {
    EXPECT_EQ(run_job_with({.ranks = ranks}, &sees_the_failure), 0) << ranks;
    EXPECT_EQ(run_job_with({.ranks = ranks, .seed = 3, .delay_us = 100}, &sees_the_failure), 0) << ranks;
  }
}

task<> gives_up(task_graph& g, int when) {
  distributed<std::uint64_t> x(g, 6, 3000, map::round_robin{});
  for (int i = 0; i < 6; ++i) g.submit({}, &set, write(x(i)), std::uint64_t{1});
  for (int k = 0; k < 20; ++k) {
    if (k == when && g.rank() == 1) throw std::runtime_error("no more");
    for (int i = 0; i < 6; ++i) g.submit({}, &add, x((i + 1) % 6), x(i));
  }
  co_return;
}
task<int> sees_who_gave_up(runtime& rt, int when) {
  std::string text;
  try {
    co_await run_graph<&gives_up>(rt, when);
  } catch (const std::exception& e) {
    text = e.what();
  }
  EXPECT_THAT(text, HasSubstr("no more"));
  co_return 0;
}

TEST(task_graph, a_rank_that_gives_up_leaves_nobody_waiting) {
  for (const int ranks : {2, 3, 4}) {
    for (const int when : {0, 3, 19}) {
      EXPECT_EQ(run_job_with({.ranks = ranks}, &sees_who_gave_up, when), 0);
      EXPECT_EQ(run_job_with({.ranks = ranks, .seed = 5, .delay_us = 100}, &sees_who_gave_up, when), 0);
    }
  }
}

task<> reads_what_nobody_wrote(task_graph& g) {
  distributed<std::uint64_t> x(g, 2, 10, map::round_robin{});
  g.submit({}, &set, write(x(1)), std::uint64_t{1});
  g.submit({}, &add, x(0), x(1));
  co_return;
}
task<int> sees_what_was_not_written(runtime& rt) {
  std::string text;
  try {
    co_await run_graph<&reads_what_nobody_wrote>(rt);
  } catch (const std::exception& e) {
    text = e.what();
  }
  EXPECT_THAT(text, HasSubstr("object 0 of the graph's 1. distributed, for rank 1"));
  co_return 0;
}

TEST(task_graph, data_that_nobody_has_written_do_not_travel) {
  EXPECT_EQ(run_job_with({.ranks = 2}, &sees_what_was_not_written), 0);
}

task<> depends_on_the_rank(task_graph& g) {
  distributed<std::uint64_t> x(g, 4, 1000);
  for (int i = 0; i < 4; ++i) g.submit({}, &set, write(x(i)), std::uint64_t{1});
  if (g.rank() == 1) g.submit({.name = "mine"}, &add, x(0), x(3));  // rank 0 does not know that it should send
  co_return;
}
task<int> run_what_depends_on_the_rank(runtime& rt) {
  co_await run_graph<&depends_on_the_rank>(rt);
  co_return 0;
}

TEST(task_graph, that_is_another_on_each_rank_is_reported_as_a_deadlock) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_job_with({.ranks = 2}, &run_what_depends_on_the_rank), 70);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("task 'mine' is waiting behind task 'receive', which is waiting"));
}

/// Rank 0 sends rank 1 what rank 1 does not ask for.
task<> sends_what_nobody_needs(task_graph& g, int how) {
  distributed<std::uint64_t> x(g, 4, how == 2 ? 100'000 : 10);
  for (int i = 0; i < 4; ++i) g.submit({}, &set, write(x(i)), std::uint64_t{1});
  if (how == 1) {
    co_await values(g, x(3 * g.rank()));
  } else if (g.rank() == 0) {
    g.submit({.name = "mine"}, &add, x(0), x(3));
  }
}
task<int> send_what_nobody_needs(runtime& rt) {
  for (int how = 0; how < 3; ++how) {
    std::string text;
    try {
      co_await run_graph<&sends_what_nobody_needs>(rt, how);
    } catch (const usage_error& e) {
      text = e.what();
    }
    EXPECT_THAT(text, HasSubstr("ranks 0 and 1 have submitted different graphs, of")) << how;
  }
  co_return 0;
}

TEST(task_graph, tells_of_data_that_no_task_of_a_rank_needs) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    EXPECT_EQ(run_job_with({.ranks = 2, .seed = seed}, &send_what_nobody_needs), 0);
    EXPECT_EQ(run_job_with({.ranks = 2, .seed = seed, .delay_us = 50}, &send_what_nobody_needs), 0);
    EXPECT_EQ(run_job_with({.ranks = 2, .seed = seed, .one_thread = true}, &send_what_nobody_needs), 0);
  }
}

/// Each waits, before it has submitted all, for what the other does not do.
task<> ranks_wait_for_each_other(task_graph& g) {
  distributed<std::uint64_t> x(g, 4, 1000);
  for (int i = 0; i < 4; ++i) g.submit({}, &set, write(x(i)), std::uint64_t{1});
  g.submit({.name = "mine"}, &add, x(g.rank()), x(3));
  co_await g.done();
  g.submit({}, &add, x(1 - g.rank()), x(3));
}
task<int> have_ranks_wait_for_each_other(runtime& rt) {
  co_await run_graph<&ranks_wait_for_each_other>(rt);
  co_return 0;
}

TEST(task_graph, whose_ranks_wait_for_each_other_is_reported_with_what_they_wait_for) {
  for (const job_shape& s : {job_shape{.ranks = 2}, job_shape{.ranks = 2, .one_thread = true}}) {
    const auto [code, errors] = run_and_listen(s, &have_ranks_wait_for_each_other);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors,
                HasSubstr("PE 0: object 0 of a graph's 1. distributed was sent to rank 1, where no task has been "
                          "submitted that needs it"));
    EXPECT_THAT(errors,
                HasSubstr("PE 1: object 1 of a graph's 1. distributed is expected from rank 0, which has not sent it"));
    EXPECT_THAT(errors, HasSubstr("task 'mine' is waiting behind task 'receive', which is waiting"));
  }
}

/// What one rank takes for an object of another size, or of another rank, is not read: it may be larger than the
/// object.
task<> makes_other_objects(task_graph& g, int how) {
  const auto at_home = [&](const index1d& i, const index1d&, int ranks) { return (i.x + how * g.rank()) % ranks; };
  const auto size = [&](const index1d&) -> std::size_t { return how == 0 ? 1000 + 1000 * g.rank() : 1000; };
  distributed<std::uint64_t> x(g, 2, size, at_home);
  for (int i = 0; i < 2; ++i) g.submit({}, &set, write(x(i)), std::uint64_t{1});
  g.submit({}, &add, x(0), x(1));
  co_await values(g, x(1));
}
task<int> make_other_objects(runtime& rt) {
  for (int how = 0; how < 2; ++how) {
    std::string text;
    try {
      co_await run_graph<&makes_other_objects>(rt, how);
    } catch (const std::exception& e) {
      text = e.what();
    }
    EXPECT_THAT(text, HasSubstr("have made different objects")) << how;
  }
  co_return 0;
}

TEST(task_graph, tells_of_objects_that_are_others_on_each_rank) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    for (int ranks = 2; ranks <= 3; ++ranks) {
      EXPECT_EQ(run_job_with({.ranks = ranks, .seed = seed}, &make_other_objects), 0);
    }
  }
}

task<> submits_what_others_do_not(task_graph& g) {
  distributed<std::uint64_t> x(g, 4, 1000, map::constant{0});
  for (int i = 0; i < 4; ++i) g.submit({}, &set, write(x(i)), std::uint64_t{1});
  if (g.rank() == 2) g.submit({}, &add, x(0), x(3));  // rank 0's task, of which it does not hear: nobody waits
  co_return;
}
task<int> run_what_others_do_not(runtime& rt) {
  std::string text;
  try {
    co_await run_graph<&submits_what_others_do_not>(rt);
  } catch (const usage_error& e) {
    text = e.what();
  }
  EXPECT_THAT(text, HasSubstr("ranks 0 and 2 have submitted different graphs, of 4 and 5 tasks"));
  co_return 0;
}

TEST(task_graph, tells_of_tasks_that_only_one_rank_has_submitted) {
  EXPECT_EQ(run_job_with({.ranks = 3}, &run_what_others_do_not), 0);
}

// ------------------------------------------------------------------------------------------------ tasks as a whole

task<int> waits_for_all(runtime&) {
  std::atomic<int> num_run = 0;
  auto* const count = &num_run;
  hetero_object<int> x(100);
  for (int i = 0; i < 1000; ++i) {
    submit({}, [count](std::span<int> v, int k) { v[0] = k, ++*count; }, write(x), i);
    if (i % 100 == 50) {
      co_await fewer_tasks_than(20);
      EXPECT_LT(hetero_domain::current().num_outstanding(), 20U);
    }
  }
  co_await all_tasks();
  EXPECT_EQ(num_run, 1000);
  co_await all_tasks();
  auto access = x.host(access_mode::read);
  const auto view = co_await access;
  EXPECT_EQ(view[0], 999);
  co_await all_tasks();  // a view of one's own is not waited for
  EXPECT_THROW(static_cast<void>(fewer_tasks_than(0)), usage_error);
  co_return 0;
}
task<int> is_told_of_each_failure(runtime&) {
  hetero_object<int> x(1), y(1);
  submit({}, [](std::span<int>) { throw std::runtime_error("first"); }, write(x));
  submit({}, [](std::span<int>) { throw std::runtime_error("second"); }, write(y));
  std::vector<std::string> told;
  for (int i = 0; i < 3; ++i) {
    try {
      co_await all_tasks();
      told.emplace_back("nothing");
    } catch (const std::exception& e) {
      told.emplace_back(e.what());
    }
  }
  EXPECT_THAT(told, testing::ElementsAre(HasSubstr("first"), HasSubstr("second"), "nothing"));
  co_return 0;
}

TEST(all_tasks, waits_for_what_was_submitted) {
  for (const int pes : {1, 2}) EXPECT_EQ(run_job_with({.pes = pes}, &waits_for_all), 0);
}
TEST(all_tasks, throws_what_nobody_has_been_told_of) { EXPECT_EQ(run_job_with({}, &is_told_of_each_failure), 0); }

}  // namespace

}  // namespace task_graph_test
