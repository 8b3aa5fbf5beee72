#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>
#include <imbrex/pe/scheduler.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "unit/object/job.h"

namespace section_test {

namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;

constexpr ix::index2d extent{4, 5};

struct tile : ix::chare<tile, ix::index2d> {
  using section = ix::section_proxy<tile>;

  int number() const { return static_cast<int>(linear(index(), extent())); }
  void add(section s, int factor) { contribute(s, factor * number(), ix::sum); }
  void count(section s) {
    ++counted;
    contribute(s, 1, ix::sum);
  }
  ix::task<> together(section s, int size, int sum) {
    for (int k = 1; k <= 10; ++k) {
      const int total = co_await allreduce(s, k * number(), ix::sum);
      EXPECT_EQ(total, k * sum);
      const int members = co_await allreduce(s, 1, ix::sum);
      EXPECT_EQ(members, size);
    }
    contribute(s, 1, ix::sum);
  }
  void whole() { contribute(1, ix::sum); }
  /// A section made by an element, spoken to at once.
  void found(std::vector<ix::index2d> members) {
    auto s = array().section(std::move(members));
    s.broadcast<&tile::deliver_to>(s, proxy());
  }
  void deliver_to(section s, ix::element_proxy<tile> one) { contribute(s, 1, ix::sum, ix::deliver<&tile::told>(one)); }
  void told(int members) { counted += 100 * members; }
  int times_counted() { return counted; }
  int counted = 0;
};

std::vector<ix::index2d> row(int y) { return {{0, y}, {1, y}, {2, y}, {3, y}}; }
std::vector<ix::index2d> column(int x) { return {{x, 4}, {x, 2}, {x, 0}, {x, 1}, {x, 3}}; }

ix::task<int> rows_and_columns(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  std::vector<tile::section> rows;
  std::vector<tile::section> columns;
  for (int y = 0; y < extent.y; ++y) rows.push_back(tiles.section(row(y)));
  for (int x = 0; x < extent.x; ++x) columns.push_back(tiles.section(column(x)));
  for (const tile::section& s : rows) s.broadcast<&tile::add>(s, 1);
  for (const tile::section& s : columns) s.broadcast<&tile::add>(s, 10);
  tiles.broadcast<&tile::whole>();
  for (int y = 0; y < extent.y; ++y) {
    const int sum = co_await rows[static_cast<std::size_t>(y)].reduction<int>();
    EXPECT_EQ(sum, 4 * 4 * y + 6);
  }
  for (int x = 0; x < extent.x; ++x) {
    const int sum = co_await columns[static_cast<std::size_t>(x)].reduction<int>();
    EXPECT_EQ(sum, 10 * (5 * x + 40));
  }
  const int all = co_await tiles.reduction<int>();
  EXPECT_EQ(all, 20);
  co_return 0;
}

TEST(section, has_reductions_of_its_own) { run_over_all_shapes(rows_and_columns); }

ix::task<int> members_only(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  const std::vector<ix::index2d> members{{3, 4}, {0, 0}, {1, 2}};
  auto s = tiles.section(members);
  for (int k = 0; k < 3; ++k) s.broadcast<&tile::count>(s);
  for (int k = 0; k < 3; ++k) {
    const int size = co_await s.reduction<int>();
    EXPECT_EQ(size, 3);
  }
  for (std::uint64_t l = 0; l < volume(extent); ++l) {
    const ix::index2d i = ix::from_linear(l, extent);
    const bool member = std::find(members.begin(), members.end(), i) != members.end();
    const int times = co_await tiles[i].call<&tile::times_counted>();
    EXPECT_EQ(times, member ? 3 : 0);
  }
  co_return 0;
}

TEST(section, broadcasts_to_its_members_only) { run_over_all_shapes(members_only); }

ix::task<int> allreduces(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  auto diagonal = tiles.section({{0, 0}, {1, 1}, {2, 2}, {3, 3}});
  auto left = tiles.section(column(0));
  diagonal.broadcast<&tile::together>(diagonal, 4, 0 + 5 + 10 + 15);
  left.broadcast<&tile::together>(left, 5, 0 + 4 + 8 + 12 + 16);
  const int in_diagonal = co_await diagonal.reduction<int>();
  const int in_left = co_await left.reduction<int>();
  EXPECT_EQ(in_diagonal, 4);
  EXPECT_EQ(in_left, 5);
  co_return 0;
}

TEST(section, has_allreduces_that_overlap_with_those_of_others) { run_over_all_shapes(allreduces); }

ix::task<int> made_by_elements(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  for (int y = 0; y < extent.y; ++y) tiles[{y % 4, y}].send<&tile::found>(row(y));
  co_await rt.quiescence();
  for (int y = 0; y < extent.y; ++y) {
    const int told = co_await tiles[{y % 4, y}].call<&tile::times_counted>();
    EXPECT_EQ(told, 400);
  }
  co_return 0;
}

TEST(section, can_be_made_by_any_element) { run_over_all_shapes(made_by_elements); }

ix::task<int> without_a_dead_member(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  auto s = tiles.section(row(1));
  s.broadcast<&tile::count>(s);
  const int before = co_await s.reduction<int>();
  EXPECT_EQ(before, 4);
  tiles[{2, 1}].erase();
  co_await rt.quiescence();
  for (int k = 0; k < 3; ++k) {
    s.broadcast<&tile::count>(s);
    const int after = co_await s.reduction<int>();
    EXPECT_EQ(after, 3);
  }
  auto later = tiles.section(row(1));  // names one that has ended already
  later.broadcast<&tile::count>(later);
  const int of_later = co_await later.reduction<int>();
  EXPECT_EQ(of_later, 3);
  co_return 0;
}

TEST(section, goes_on_without_a_member_that_ended) { run_over_all_shapes(without_a_dead_member); }

ix::task<int> named_twice(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  const std::vector<ix::index2d> members{{1, 1}, {0, 3}, {1, 1}, {3, 4}, {0, 3}, {1, 1}};
  auto s = tiles.section(members);
  s.broadcast<&tile::count>(s);
  const int size = co_await s.reduction<int>();
  EXPECT_EQ(size, 3);
  const int times = co_await tiles[{1, 1}].call<&tile::times_counted>();
  EXPECT_EQ(times, 1);
  co_return 0;
}

TEST(section, has_a_member_once_though_it_is_named_twice) { run_over_all_shapes(named_twice); }

/// One on each PE: how many messages it has performed.
struct meter : ix::chare<meter, ix::index1d> {
  std::uint64_t performed() { return ix::scheduler::current().message_counts().processed; }
};

ix::task<int> only_where_members_are(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  auto meters = rt.create_group<meter>();
  auto s = tiles.section({{0, 0}, {1, 0}});  // at home on the first PEs only
  s.broadcast<&tile::count>(s);
  co_await s.reduction<int>();
  co_await rt.quiescence();
  const int last = rt.num_pes() - 1;
  const std::uint64_t before = co_await meters[last].call<&meter::performed>();
  for (int k = 0; k < 20; ++k) {
    s.broadcast<&tile::count>(s);
    co_await s.reduction<int>();
  }
  const std::uint64_t after = co_await meters[last].call<&meter::performed>();
  EXPECT_EQ(after - before, 1u);  // the call
  co_return 0;
}

TEST(section, is_not_heard_of_where_it_has_no_members) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{5, 1}, {1, 5}, {2, 3}})
    EXPECT_EQ(imbrex_test::run_job_with(s, only_where_members_are), 0) << to_text(s);
}

ix::task<int> freed(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  for (int k = 0; k < 50; ++k) {
    auto s = tiles.section(column(k % 4));
    s.broadcast<&tile::count>(s);
    const int size = co_await s.reduction<int>();
    EXPECT_EQ(size, 5);
    s.free();
  }
  auto gone = tiles.section(row(0));
  gone.broadcast<&tile::count>(gone);
  gone.free();
  co_await rt.quiescence();
  gone.broadcast<&tile::count>(gone);  // dropped
  co_await rt.quiescence();
  const int times = co_await tiles[{3, 0}].call<&tile::times_counted>();
  EXPECT_EQ(times, 12 + 1);
  co_return 0;
}

TEST(section, can_be_freed) {
  for (const imbrex_test::job_shape& s : imbrex_test::all_shapes()) {
    if (s.seed != 0 || s.delay_us != 0) continue;  // the last broadcast may come after the end
    EXPECT_EQ(imbrex_test::run_job_with(s, freed), 0) << to_text(s);
  }
}

// ------------------------------------------------------------------------------------------------ who is none of it

ix::task<int> others_contribute(ix::runtime& rt, bool first) {
  auto tiles = rt.create_array<tile>(extent);
  auto s = tiles.section(row(0));
  if (!first) {
    s.broadcast<&tile::count>(s);
    const int size = co_await s.reduction<int>();
    EXPECT_EQ(size, 4);
    co_await rt.quiescence();
  }
  tiles[{2, 3}].send<&tile::count>(s);
  if (first) {
    co_await rt.quiescence();
    s.broadcast<&tile::count>(s);
    co_await s.reduction<int>();
  }
  co_return 0;
}

ix::task<int> others_wait(ix::runtime& rt, bool main_waits) {
  auto tiles = rt.create_array<tile>(extent);
  auto s = tiles.section({{0, 0}});
  tiles[{2, 3}].send<&tile::together>(s, 1, 0);
  if (main_waits) co_await s.reduction<int>();
  co_return 0;
}

template <class Start>
void expect_refusal(Start start, bool how) {
  for (const imbrex_test::job_shape& s : imbrex_test::all_shapes()) {
    SCOPED_TRACE(to_text(s));
    const auto [code, errors] = imbrex_test::run_and_listen(s, start, how);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, testing::HasSubstr("tile(2, 3) has contributed to a section that it is not a member of"));
  }
}

TEST(section, refuses_contributions_of_others) {
  expect_refusal(others_contribute, true);
  expect_refusal(others_contribute, false);
  expect_refusal(others_wait, true);
  expect_refusal(others_wait, false);
}

ix::task<int> makes_wrong_sections(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  EXPECT_THROW(tiles.section({}), ix::usage_error);
  EXPECT_THROW(tiles.section({{0, 0}, {0, 99}}), ix::usage_error);
  auto s = tiles.section({{0, 0}});
  s.broadcast<&tile::count>(s);
  const int size = co_await s.reduction<int>();
  EXPECT_EQ(size, 1);
  co_return 0;
}

TEST(section, without_members_or_with_indices_outside_is_refused_where_it_is_made) {
  run_over_all_shapes(makes_wrong_sections);
}

ix::task<int> frees_what_is_awaited(ix::runtime& rt) {
  auto tiles = rt.create_array<tile>(extent);
  auto s = tiles.section(row(0));
  s.free();
  co_await s.reduction<int>();
  co_return 0;
}

TEST(section, that_is_freed_while_its_reduction_is_awaited_is_named) {
  for (const imbrex_test::job_shape& s : imbrex_test::all_shapes()) {
    SCOPED_TRACE(to_text(s));
    const auto [code, errors] = imbrex_test::run_and_listen(s, frees_what_is_awaited);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, testing::HasSubstr("tile is awaited, but the section has been freed"));
  }
}

/// Of a section at once and after it has moved; some are members, some are not.
struct traveller : ix::chare<traveller, ix::index1d> {
  using section = ix::section_proxy<traveller>;
  void move(int to) { migrate_to(to); }
  void count(section s) { contribute(s, 1, ix::sum); }
  template <class Archive>
  void serialize(Archive&) {}
};

ix::task<int> away_from_home(ix::runtime& rt, bool with_another, bool quiet) {
  constexpr int num_members = 6;
  auto all = rt.create_array<traveller>(num_members + 1);
  for (int i = 0; i <= num_members; ++i) all[i].send<&traveller::move>((i + 1) % rt.num_pes());
  if (quiet) co_await rt.quiescence();
  std::vector<ix::index1d> members;
  for (int i = 0; i < num_members; ++i) members.push_back(ix::index1d(i));
  auto s = all.section(members);
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i < num_members; ++i) {
      all[i].send<&traveller::count>(s);
      if (!quiet) all[i].send<&traveller::move>((i + k) % rt.num_pes());
    }
    if (with_another) all[num_members].send<&traveller::count>(s);
    const int size = co_await s.reduction<int>();
    EXPECT_TRUE(size == num_members || with_another);
  }
  co_await rt.quiescence();
  co_return 0;
}

TEST(section, has_contributions_of_members_that_are_not_at_home) {
  for (const bool quiet : {true, false}) run_over_all_shapes(away_from_home, false, quiet);
}

TEST(section, refuses_contributions_of_others_that_are_not_at_home) {
  for (const imbrex_test::job_shape& s : imbrex_test::all_shapes()) {
    SCOPED_TRACE(to_text(s));
    for (const bool quiet : {true, false}) {
      const auto [code, errors] = imbrex_test::run_and_listen(s, away_from_home, true, quiet);
      EXPECT_EQ(code, 70);
      EXPECT_THAT(errors, testing::HasSubstr("traveller(6) has contributed to a section that it is not a member of"));
    }
  }
}

/// Moves again and again, and in the end is no more: every third one.
struct wanderer : ix::chare<wanderer, ix::index1d> {
  void hear(int number, const std::vector<double>& load, int last) {
    EXPECT_EQ(load, std::vector<double>(load.size(), number));
    heard.push_back(number);
    const int mine = index().x;
    if (mine % 3 == 2 && number > last / 2) return destroy();
    if ((number + mine) % 3 == 0) migrate_to((pe() + number + mine) % num_pes());
  }
  std::vector<int> all_heard() const { return heard; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & heard;
  }
  std::vector<int> heard;
};

/// Its elements broadcast, too: numbers of their own, with arrays that travel beside messages.
struct crier : ix::chare<crier, ix::index1d> {
  void cry(ix::section_proxy<wanderer> s, int count) {
    for (int i = 0; i < count; ++i) {
      const int number = i * extent().x + index().x;
      s.broadcast<&wanderer::hear>(number, std::vector<double>(i % 4 == 0 ? 20'000 : 3, number), count * extent().x);
    }
  }
};

ix::task<int> while_members_move_and_end(ix::runtime& rt) {
  constexpr int num_members = 9, num_criers = 3, count = 20;
  auto wanderers = rt.create_array<wanderer>(12);
  auto criers = rt.create_array<crier>(num_criers);
  std::vector<ix::index1d> members;
  for (int i = 0; i < num_members; ++i) members.push_back(ix::index1d(i));
  auto s = wanderers.section(members);
  criers.broadcast<&crier::cry>(s, count);
  co_await rt.quiescence();
  for (int i = 0; i < 12; ++i) {
    if (i < num_members && i % 3 == 2) continue;
    std::vector<int> heard = co_await wanderers[i].call<&wanderer::all_heard>();
    std::ranges::sort(heard);
    std::vector<int> expected(i < num_members ? count * num_criers : 0);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(heard, expected) << i;
  }
  co_return 0;
}

TEST(section, hears_each_broadcast_once_while_members_move_and_end) { run_over_all_shapes(while_members_move_and_end); }

/// Contributes to a section, which its PE may not have heard of yet, and ends if its number is odd.
struct giver : ix::chare<giver, ix::index1d> {
  using section = ix::section_proxy<giver>;
  void give(section s) {
    contribute(s, 1, ix::sum);
    if (index().x % 2 != 0) destroy();
  }
  void again(section s) { contribute(s, 1, ix::sum); }
  void ask_all(section s, int n) {
    for (int i = 0; i < n; ++i) array()[i].send<&giver::give>(s);
  }
  void move(int to) { migrate_to(to); }
  template <class Archive>
  void serialize(Archive&) {}
};

ix::task<int> members_give_and_end(ix::runtime& rt, bool by_another, bool moved) {
  constexpr int n = 12;
  auto all = rt.create_array<giver>(n + 1);
  if (moved) {
    for (int i = 0; i < n; ++i) all[i].send<&giver::move>((i + 1) % rt.num_pes());
    co_await rt.quiescence();
  }
  std::vector<ix::index1d> members;
  for (int i = 0; i < n; ++i) members.push_back(ix::index1d(i));
  for (int round = 0; round < 2; ++round) {
    auto s = all.section(members);
    if (by_another) {
      all[n].send<&giver::ask_all>(s, n);
    } else {
      for (const ix::index1d& i : members) all[i].send<&giver::give>(s);
    }
    const int first = co_await s.reduction<int>();
    EXPECT_EQ(first, static_cast<int>(members.size()));
    co_await rt.quiescence();
    s.broadcast<&giver::again>(s);
    const int second = co_await s.reduction<int>();
    EXPECT_EQ(second, n / 2);
    std::erase_if(members, [](const ix::index1d& i) { return i.x % 2 != 0; });
    by_another = false;
  }
  co_return 0;
}

TEST(section, counts_what_members_have_contributed_before_they_ended) {
  for (const bool moved : {false, true}) {
    for (const bool by_another : {false, true}) run_over_all_shapes(members_give_and_end, by_another, moved);
  }
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    EXPECT_EQ(imbrex_test::run_job_with({1, 4, seed, 300}, members_give_and_end, true, false), 0) << seed;
    EXPECT_EQ(imbrex_test::run_job_with({4, 1, seed}, members_give_and_end, false, false), 0) << seed;
  }
}

}  // namespace

}  // namespace section_test
