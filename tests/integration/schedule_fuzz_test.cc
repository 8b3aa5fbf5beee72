#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "unit/object/job.h"

/// Small programs, each run under 200 schedules, delays and orders of messages: the results must be the same.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;

constexpr std::uint64_t num_seeds = 200;

job_shape shape_for(std::uint64_t seed) {
  static const std::vector<job_shape> shapes{
      {1, 1},
      {2, 1},
      {3, 1},
      {1, 2, 0, 20},
      {2, 2, 0, 20},
      {1, 3},
      {7, 1, 0, 0, true},
      {3, 2, 0, 20, true},
#if IMBREX_HAVE_TOML
      {2, 5, 0, 0, false, true},
#endif
  };
  job_shape s = shapes[seed % shapes.size()];
  s.seed = seed;
  return s;
}

template <class Start>
void expect_same_under_all_schedules(Start start) {
  for (std::uint64_t seed = 1; seed <= num_seeds; ++seed) {
    SCOPED_TRACE(to_text(shape_for(seed)));
    EXPECT_EQ(imbrex_test::run_job_with(shape_for(seed), start), 0);
    if (testing::Test::HasFailure()) return;
  }
}

// ------------------------------------------------------------------------------------------------ a halo exchange

/// One cell of a ring: a linear recurrence of itself and its neighbours.
struct ring_cell : ix::chare<ring_cell, ix::index1d> {
  ix::task<> run(int iterations) {
    std::uint64_t value = static_cast<std::uint64_t>(index()) + 1;
    const int n = extent();
    for (int k = 0; k < iterations; ++k) {
      array()[(index() + 1) % n].send<&ring_cell::from_left>(k, value);
      array()[(index() + n - 1) % n].send<&ring_cell::from_right>(k, value);
      auto [left, right] = co_await ix::when_all(from_left(k), from_right(k));
      value = value * 3 + std::get<0>(left) * 5 + std::get<0>(right) * 7;
      if (k % 4 == 3) value += co_await allreduce(value, ix::bit_xor);
    }
    contribute(value, ix::sum);
  }
  ix::when<int, std::uint64_t> from_left;
  ix::when<int, std::uint64_t> from_right;
};

std::uint64_t serial_ring(int n, int iterations) {
  std::vector<std::uint64_t> value;
  for (int i = 0; i < n; ++i) value.push_back(static_cast<std::uint64_t>(i) + 1);
  for (int k = 0; k < iterations; ++k) {
    std::vector<std::uint64_t> next(value);
    for (int i = 0; i < n; ++i) {
      const auto at = [&](int j) { return value[static_cast<std::size_t>((j + n) % n)]; };
      next[static_cast<std::size_t>(i)] = at(i) * 3 + at(i - 1) * 5 + at(i + 1) * 7;
    }
    value = next;
    std::uint64_t all = 0;
    for (std::uint64_t v : value) all ^= v;
    if (k % 4 == 3) {
      for (std::uint64_t& v : value) v += all;
    }
  }
  std::uint64_t sum = 0;
  for (std::uint64_t v : value) sum += v;
  return sum;
}

ix::task<int> ring(ix::runtime& rt) {
  auto cells = rt.create_array<ring_cell>(ix::index1d(9));
  cells.broadcast<&ring_cell::run>(12);
  const std::uint64_t sum = co_await cells.reduction<std::uint64_t>();
  EXPECT_EQ(sum, serial_ring(9, 12));
  co_return 0;
}

TEST(schedule, does_not_change_a_halo_exchange) { expect_same_under_all_schedules(ring); }

// ------------------------------------------------------------------------------- elements that come, go and move

struct walker : ix::chare<walker, ix::index1d> {
  walker() = default;
  explicit walker(int v) : value(v) {}
  void add(int n) { value += n; }
  void step(int round) {
    contribute(value, ix::sum);
    migrate_to(static_cast<int>(ix::mix(static_cast<std::uint64_t>(round * 31 + index())) %
                                static_cast<std::uint64_t>(num_pes())));
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & value;
  }
  int value = 0;
};

ix::task<int> population(ix::runtime& rt) {
  auto walkers = rt.create_array<walker>(ix::empty_array<ix::index1d>());
  std::map<int, int> expected;
  for (int round = 0; round < 6; ++round) {
    for (int i = round; i < round + 4; ++i) {
      if (expected.emplace(i, 10 * i).second) walkers.insert_on((i * 3) % rt.num_pes(), i, 10 * i);
      walkers[i].send<&walker::add>(1);
      expected[i] += 1;
    }
    co_await rt.quiescence();
    for (const auto& one : expected) walkers[one.first].send<&walker::step>(round);
    int sum = 0;
    for (const auto& one : expected) sum += one.second;
    const int got = co_await walkers.reduction<int>();
    EXPECT_EQ(got, sum) << "round " << round;
    walkers[round].erase();
    expected.erase(round);
    co_await rt.quiescence();
  }
  co_return 0;
}

TEST(schedule, does_not_change_what_comes_goes_and_moves) { expect_same_under_all_schedules(population); }

// ------------------------------------------------------------------------------------- calls, sections, broadcasts

struct clerk : ix::chare<clerk, ix::index2d> {
  ix::task<int> count_below(int depth) {
    if (depth == 0) co_return 1;
    auto first = array()[{(index().x + 1) % extent().x, index().y}].call<&clerk::count_below>(depth - 1);
    auto second = array()[{index().x, (index().y + 1) % extent().y}].call<&clerk::count_below>(depth - 1);
    const auto [a, b] = co_await ix::when_all(std::move(first), std::move(second));
    co_return a + b + 1;
  }
  void report(ix::section_proxy<clerk> s) { contribute(s, static_cast<int>(linear(index(), extent())), ix::sum); }
  void mark(int n) { marks += n; }
  int get_marks() { return marks; }
  int marks = 0;
};

ix::task<int> office(ix::runtime& rt) {
  auto clerks = rt.create_array<clerk>(ix::placed(ix::index2d{3, 3}, ix::map::round_robin{}));
  auto diagonal = clerks.section({{0, 0}, {1, 1}, {2, 2}});
  auto edge = clerks.section({{0, 0}, {1, 0}, {2, 0}});
  diagonal.broadcast<&clerk::report>(diagonal);
  edge.broadcast<&clerk::report>(edge);
  clerks.broadcast<&clerk::mark>(3);
  diagonal.broadcast<&clerk::mark>(4);
  const int tree = co_await clerks[{1, 2}].call<&clerk::count_below>(6);
  EXPECT_EQ(tree, 127);
  const int of_edge = co_await edge.reduction<int>();
  const int of_diagonal = co_await diagonal.reduction<int>();
  EXPECT_EQ(of_edge, 0 + 1 + 2);
  EXPECT_EQ(of_diagonal, 0 + 4 + 8);
  co_await rt.quiescence();
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 3; ++x) {
      const int marks = co_await clerks[{x, y}].call<&clerk::get_marks>();
      EXPECT_EQ(marks, x == y ? 7 : 3);
    }
  }
  co_return 0;
}

TEST(schedule, does_not_change_calls_sections_and_broadcasts) { expect_same_under_all_schedules(office); }

// --------------------------------------------------------------------------------------- seeds that are taken

struct nest : ix::chare<nest, ix::index1d> {
  void add(int n) { total += n; }
  void tell() { contribute(total, ix::sum); }
  int total = 0;
};

/// Makes others, speaks to them before they are there, is moved, answers, and ends.
struct ant : ix::chare<ant> {
  ant() = default;
  ant(int depth, ix::array_proxy<nest> nests) : home(nests) {
    if (depth < 0) {
      destroy();
      return;
    }
    home[depth % 3].send<&nest::add>(1);
    for (int i = 0; i < 2 && depth > 0; ++i) {
      children.push_back(rt().create<ant>(depth - 1, home));
      children.back().send<&ant::letters>(i, 10 * depth);
      if ((depth + i) % 2 == 0) children.back().send<&ant::hop>((pe() + 1) % num_pes());
    }
  }
  void hop(int to) { migrate_to(to); }
  ix::task<int> count(int which) {
    int sum = 1;
    for (int i = 0; i < static_cast<int>(children.size()); ++i) {
      auto asked = children[static_cast<std::size_t>(i)].call<&ant::count>(i);
      sum += co_await std::move(asked);
    }
    auto letter = letters(which);
    auto [n] = co_await letter;
    home[0].send<&nest::add>(n);
    co_return sum;
  }
  void end_all() {
    for (const auto& c : children) c.send<&ant::end_all>();
    destroy();
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & home & children & letters;
  }
  ix::array_proxy<nest> home;
  std::vector<ix::element_proxy<ant>> children;
  ix::when<int, int> letters;
};

/// Makes those that are placed in turn.
struct colonist : ix::chare<colonist, ix::index1d> {
  void begin(ix::array_proxy<nest> nests) {
    for (int i = 0; i < 4 * num_pes(); ++i) rt().create<ant>(-1, nests);
  }
};

ix::task<int> colony(ix::runtime& rt) {
  auto nests = rt.create_array<nest>(ix::index1d(3));
  auto colonists = rt.create_group<colonist>();
  colonists.broadcast<&colonist::begin>(nests);
  co_await rt.quiescence();
  const int depth = 5;
  const auto queen = rt.create<ant>(depth, nests);
  queen.send<&ant::letters>(0, 1000);
  auto counted = queen.call<&ant::count>(0);
  const int ants = co_await std::move(counted);
  EXPECT_EQ(ants, 63);
  co_await rt.quiescence();
  queen.send<&ant::end_all>();
  co_await rt.quiescence();
  nests.broadcast<&nest::tell>();
  int letters = 1000;
  for (int d = depth; d > 0; --d) letters += 10 * d * (1 << (depth - d + 1));
  const int total = co_await nests.reduction<int>();
  EXPECT_EQ(total, 63 + letters);
  co_return 0;
}

TEST(schedule, does_not_change_chares_that_idle_pes_take) { expect_same_under_all_schedules(colony); }

}  // namespace
