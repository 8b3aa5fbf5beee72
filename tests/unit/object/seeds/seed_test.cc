#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "unit/object/job.h"

namespace seed_test {

/// Single chares for which no place is given: they stay where they are made, or idle PEs take them.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using imbrex_test::run_and_listen;
using imbrex_test::run_job_with;
using imbrex_test::run_over_all_shapes;
using testing::HasSubstr;

void take_time(std::int64_t microseconds) {
  const std::int64_t until = ix::now_ns() + microseconds * 1000;
  while (ix::now_ns() < until) std::this_thread::yield();
}

std::atomic<int> alive{0};

/// Keeps what it is told, in order.
struct listener : ix::chare<listener> {
  listener() { ++alive; }
  explicit listener(int n) : number(n) { ++alive; }
  ~listener() override { --alive; }
  void hear(int n) { heard.push_back(n); }
  int sum(int of) {
    EXPECT_EQ(of, number);
    int s = 0;
    for (const int n : heard) s += n;
    return s;
  }
  void go(int to) { migrate_to(to); }
  ix::task<int> wait(int reference) {
    auto waits = letters(reference);
    auto [n] = co_await waits;
    co_return n;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & number & heard & letters;
  }
  int number = 0;
  std::vector<int> heard;
  ix::when<int, int> letters;
};
using one = ix::element_proxy<listener>;

/// On each PE: makes listeners, and speaks to those that others have made.
struct speaker : ix::chare<speaker, ix::index1d> {
  std::vector<one> make(int n) {
    std::vector<one> all;
    for (int i = 0; i < n; ++i) {
      all.push_back(rt().create<listener>(i));
      all.back().send<&listener::hear>(1);
    }
    return all;
  }
  void tell(std::vector<one> all, int what) {
    for (const one& l : all) l.send<&listener::hear>(what);
  }
  int known() {
    int n = 0;
    ix::chare_pe::current().find_collection(ix::detail::singles_of<listener>())->for_each_known([&](ix::element_base&) {
      ++n;
    });
    return n;
  }
};

ix::task<int> speak(ix::runtime& rt) {
  const int n = 60, pes = rt.num_pes();
  const auto speakers = rt.create_group<speaker>();
  for (int p = 0; p < pes; ++p) {
    const std::vector<one> all = co_await speakers[p].call<&speaker::make>(n);
    speakers.broadcast<&speaker::tell>(all, 2);
    for (int i = 0; i < n; ++i) {
      const one l = all[static_cast<std::size_t>(i)];
      if (i % 7 == 0) l.send<&listener::go>((i + p) % pes);
      if (i % 5 == 0) {
        auto asked = l.call<&listener::wait>(i);
        l.send<&listener::letters>(i, 3 * i);
        const int letter = co_await std::move(asked);
        EXPECT_EQ(letter, 3 * i);
      }
    }
    co_await rt.quiescence();
    EXPECT_EQ(alive, n);
    for (int i = 0; i < n; ++i) {
      const one l = all[static_cast<std::size_t>(i)];
      const int sum = co_await l.call<&listener::sum>(i);
      EXPECT_EQ(sum, 1 + 2 * pes);
      l.erase();
    }
    co_await rt.quiescence();
    EXPECT_EQ(alive, 0);
    for (int q = 0; q < pes; ++q) {
      const int known = co_await speakers[q].call<&speaker::known>();
      EXPECT_EQ(known, 0) << "on PE " << q;
    }
    try {
      const int sum = co_await all[n - 1].call<&listener::sum>(0);
      ADD_FAILURE() << sum;
    } catch (const ix::usage_error& e) {
      EXPECT_THAT(e.what(), HasSubstr("listener, which has been deleted"));
    }
  }
  co_return 0;
}

TEST(seed, is_spoken_to_before_it_is_a_chare) { run_over_all_shapes(speak); }

// ------------------------------------------------------------------------------------------------ who makes them

std::mutex who_mutex;
std::set<ix::pe_id> who;
std::atomic<int> num_made{0};

struct slow : ix::chare<slow> {
  explicit slow(int us) {
    take_time(us);
    ++num_made;
    {
      const std::lock_guard lock(who_mutex);
      who.insert(pe());
    }
    destroy();
  }
};

/// All are made by the main chare, beyond those that are placed.
ix::task<int> made_by_several(ix::runtime& rt) {
  for (int i = 0; i < 4 * rt.num_pes(); ++i) rt.create<slow>(0);
  co_await rt.quiescence();
  who.clear();
  num_made = 0;
  int rounds = 0;
  // Once more where the machine had no core for the others just then.
  for (; rounds < 50 && static_cast<int>(who.size()) < rt.num_pes(); ++rounds) {
    for (int i = 0; i < 40; ++i) rt.create<slow>(200);
    co_await rt.quiescence();
    EXPECT_EQ(num_made, 40 * (rounds + 1));
  }
  EXPECT_EQ(static_cast<int>(who.size()), rt.num_pes()) << "in " << rounds << " rounds";
  co_return 0;
}

TEST(seed, is_taken_by_idle_pes) {
  for (const job_shape& s : {job_shape{2, 1}, {4, 1}, {3, 1, 7}, {3, 1, 0, 0, true}, {5, 1, 8, 0, true}})
    EXPECT_EQ(run_job_with(s, made_by_several), 0) << to_text(s);
}

TEST(seed, is_taken_by_idle_pes_of_other_processes) {
  for (const job_shape& s : {job_shape{1, 2}, {2, 2}, {1, 3}, {2, 2, 0, 150}, {1, 5, 9, 50}, {3, 2, 12, 50, true}})
    EXPECT_EQ(run_job_with(s, made_by_several), 0) << to_text(s);
}

ix::task<int> placed_and_not_placed(ix::runtime& rt) {
  struct here : ix::chare<here> {
    int where() { return pe(); }
  };
  for (int i = 0; i < 30; ++i) {
    const auto placed = rt.create_on<here>(i % rt.num_pes());
    const int its_pe = co_await placed.template call<&here::where>();
    EXPECT_EQ(its_pe, i % rt.num_pes());
    placed.erase();
    rt.create<here>().erase();
  }
  co_return 0;
}

TEST(seed, is_only_what_has_no_place) { run_over_all_shapes(placed_and_not_placed); }

// ------------------------------------------------------------------------------------------------ a tree of them

struct counter : ix::chare<counter, ix::index1d> {
  void add(std::uint64_t n) { total += n; }
  void report() { contribute(std::exchange(total, 0), ix::sum); }
  std::uint64_t total = 0;
};
ix::readonly<ix::array_proxy<counter>> counters;

/// A node whose children are drawn from its state; the number of nodes does not depend on who makes which.
struct node : ix::chare<node> {
  node(std::uint64_t state, int depth) {
    counters->local_branch()->add(1);
    const std::uint64_t children = num_children(state, depth);
    for (std::uint64_t i = 0; i < children; ++i) rt().create<node>(ix::mix(state + i), depth + 1);
    destroy();
  }
  static std::uint64_t num_children(std::uint64_t state, int depth) {
    return depth < 3 ? 4 : depth < 12 ? ix::mix(state) % 4 : 0;
  }
};

std::uint64_t count_below(std::uint64_t state, int depth) {
  std::uint64_t n = 1;
  for (std::uint64_t i = 0; i < node::num_children(state, depth); ++i) n += count_below(ix::mix(state + i), depth + 1);
  return n;
}

ix::task<int> search(ix::runtime& rt) {
  const auto all = rt.create_group<counter>();
  co_await counters.share(all);
  co_await rt.quiescence();
  for (std::uint64_t root = 1; root <= 3; ++root) {
    rt.create<node>(root, 0);
    co_await rt.quiescence();
    all.broadcast<&counter::report>();
    const std::uint64_t found = co_await all.reduction<std::uint64_t>();
    EXPECT_EQ(found, count_below(root, 0));
  }
  co_return 0;
}

TEST(seed, is_counted_by_quiescence) { run_over_all_shapes(search); }

// ------------------------------------------------------------------------------------------------ order, repeatability

std::vector<std::pair<int, ix::pe_id>> history;

struct noting : ix::chare<noting> {
  explicit noting(int n) {
    history.emplace_back(n, pe());
    if (n < 200) {
      for (int i = 1; i <= 3; ++i) rt().create<noting>(3 * n + i);
    }
    destroy();
  }
};

ix::task<int> note_all(ix::runtime& rt) {
  history.clear();
  rt.create<noting>(0);
  co_await rt.quiescence();
  co_return 0;
}

auto history_of(const job_shape& s) {
  EXPECT_EQ(run_job_with(s, note_all), 0) << to_text(s);
  return history;
}

TEST(seed, comes_the_newest_first) {
  const auto all = history_of({1, 1});
  ASSERT_EQ(all.size(), 601u);
  std::vector<int> expected{0};  // depth first, the last child first
  std::vector<int> stack{1, 2, 3};
  while (!stack.empty()) {
    const int n = stack.back();
    stack.pop_back();
    expected.push_back(n);
    for (int i = 1; n < 200 && i <= 3; ++i) stack.push_back(3 * n + i);
  }
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i].first, expected[i]) << i;
}

TEST(seed, is_taken_by_the_same_pe_each_time_where_one_thread_runs_all) {
  const auto first = history_of({6, 1, 3, 0, true});
  const auto again = history_of({6, 1, 3, 0, true});
  const auto other = history_of({6, 1, 4, 0, true});
  EXPECT_EQ(first.size(), 601u);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  std::set<ix::pe_id> pes;
  for (const auto& [n, pe] : first) pes.insert(pe);
  EXPECT_EQ(pes.size(), 6u);
}

// ------------------------------------------------------------------------------------------------ failures

/// Throws where it was not made: it has been taken.
struct thrower : ix::chare<thrower> {
  explicit thrower(ix::pe_id maker) {
    take_time(100);
    if (pe() != maker && maker != ix::no_pe) throw std::runtime_error(fmt::format("taken by PE {}", pe()));
    destroy();
  }
};

ix::task<int> throw_when_taken(ix::runtime& rt) {
  for (int i = 0; i < 4 * rt.num_pes(); ++i) rt.create<thrower>(ix::no_pe);
  for (int i = 0; i < 5000; ++i) rt.create<thrower>(rt.pe());
  co_await rt.quiescence();
  co_return 0;
}

TEST(seed, whose_constructor_throws_is_told_with_the_pe_that_took_it) {
  for (const job_shape& s : {job_shape{2, 1}, {3, 1, 0, 0, true}, {1, 2}}) {
    const auto outcome = run_and_listen(s, throw_when_taken);
    EXPECT_EQ(outcome.code, 70) << to_text(s);
    EXPECT_THAT(outcome.errors, HasSubstr("the constructor of")) << to_text(s);
    EXPECT_THAT(outcome.errors, HasSubstr("thrower"));
    const std::size_t at = outcome.errors.find("taken by PE ");
    ASSERT_NE(at, std::string::npos) << outcome.errors;
    const std::string its_pe = outcome.errors.substr(at + 12, 1);
    EXPECT_THAT(outcome.errors, HasSubstr("on PE " + its_pe));
  }
}

struct waiting : ix::chare<waiting> {
  ix::task<> begin() {
    auto waits = comes();
    co_await waits;
  }
  ix::slot<int> comes;
};

ix::task<int> wait_for_nothing(ix::runtime& rt) {
  for (int i = 0; i < 6 * rt.num_pes(); ++i) rt.create<waiting>().send<&waiting::begin>();
  co_await rt.create<waiting>().call<&waiting::begin>();
  co_return 0;
}

TEST(seed, that_became_a_chare_is_part_of_the_report_of_a_deadlock) {
  for (const job_shape& s : imbrex_test::all_shapes()) {
    const auto outcome = run_and_listen(s, wait_for_nothing);
    EXPECT_EQ(outcome.code, 70) << to_text(s);
    EXPECT_THAT(outcome.errors, HasSubstr("deadlock")) << to_text(s);
    EXPECT_THAT(outcome.errors, HasSubstr("begin of ")) << to_text(s);
    EXPECT_THAT(outcome.errors, testing::Not(HasSubstr("does not exist"))) << to_text(s);
  }
}

ix::task<int> leave_seeds_behind(ix::runtime& rt) {
  for (int i = 0; i < 3000; ++i) rt.create<listener>(i).send<&listener::hear>(i);
  rt.exit(5);
  co_await rt.quiescence();
  co_return 0;
}

TEST(seed, that_is_left_when_the_job_ends_is_dropped) {
  for (const job_shape& s : imbrex_test::all_shapes()) {
    EXPECT_EQ(run_job_with(s, leave_seeds_behind), 5) << to_text(s);
    EXPECT_EQ(alive, 0);
  }
}

}  // namespace

}  // namespace seed_test
