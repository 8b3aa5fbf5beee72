#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace singleton_test {

/// Singleton chares: made anywhere without anybody being told, and nothing is kept of those that have ended.
namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using imbrex_test::run_over_all_shapes;
using testing::HasSubstr;

std::atomic<int> alive{0};

struct loner : ix::chare<loner> {
  loner() { ++alive; }
  explicit loner(std::string t) : text(std::move(t)) { ++alive; }
  ~loner() override { --alive; }
  std::string get() { return text; }
  void append(std::string more) { text += more; }
  int where() { return pe(); }
  void go(int to) { migrate_to(to); }
  void leave() { destroy(); }
  ix::task<int> take(int reference) {
    auto [n] = co_await letters(reference);
    co_return n;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & text & letters;
  }
  std::string text = "none";
  ix::when<int, int> letters;
};

using one = ix::element_proxy<loner>;

ix::task<int> in_turn(ix::runtime& rt) {
  std::vector<int> on(static_cast<std::size_t>(rt.num_pes()), 0);
  for (int i = 0; i < 3 * rt.num_pes(); ++i) {
    const one c = rt.create<loner>(fmt::format("the {}th", i));
    const int where = co_await c.call<&loner::where>();
    ++on[static_cast<std::size_t>(where)];
    const std::string text = co_await c.call<&loner::get>();
    EXPECT_EQ(text, fmt::format("the {}th", i));
    c.erase();
  }
  EXPECT_THAT(on, testing::Each(3));
  co_await rt.quiescence();
  EXPECT_EQ(alive, 0);
  co_return 0;
}

TEST(singleton, without_a_place_goes_to_all_pes_in_turn_at_first) { run_over_all_shapes(in_turn); }

/// Hands proxies on: whom they reach is found by the name alone.
struct messenger : ix::chare<messenger, ix::index1d> {
  ix::task<std::string> ask(one whom) {
    const std::string answer = co_await whom.call<&loner::get>();
    co_return answer;
  }
  one make(std::string text) { return rt().create<loner>(std::move(text)); }
};

ix::task<int> reached_from_everywhere(ix::runtime& rt) {
  const auto group = rt.create_group<messenger>();
  for (int p = 0; p < rt.num_pes(); ++p) {
    const std::string text = fmt::format("made by {}", p);
    const one c = co_await group[p].call<&messenger::make>(text);
    for (int q = 0; q < rt.num_pes(); ++q) {
      const std::string answer = co_await group[q].call<&messenger::ask>(c);
      EXPECT_EQ(answer, text);
    }
  }
  co_return 0;
}

TEST(singleton, is_reached_from_every_pe) { run_over_all_shapes(reached_from_everywhere); }

ix::task<int> moves(ix::runtime& rt) {
  const auto group = rt.create_group<messenger>();
  const one c = rt.create_on<loner>(rt.num_pes() - 1, "mobile");
  c.send<&loner::letters>(4, 44);
  for (int round = 0; round < 6; ++round) {
    const int to = (5 * round) % rt.num_pes();
    co_await c.call<&loner::go>(to);
    co_await rt.quiescence();
    const int where = co_await c.call<&loner::where>();
    EXPECT_EQ(where, to);
    const std::string answer = co_await group[round % rt.num_pes()].call<&messenger::ask>(c);
    EXPECT_EQ(answer, "mobile");
  }
  const int letter = co_await c.call<&loner::take>(4);
  EXPECT_EQ(letter, 44);
  EXPECT_EQ(alive, 1);
  c.send<&loner::leave>();
  co_await rt.quiescence();
  EXPECT_EQ(alive, 0);
  try {
    const std::string answer = co_await group[0].call<&messenger::ask>(c);
    ADD_FAILURE() << answer;
  } catch (const ix::usage_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("loner, which has been deleted"));
  }
  co_return 0;
}

TEST(singleton, may_move_and_end) { run_over_all_shapes(moves); }

/// How much each PE knows of singletons of class loner.
struct census_taker : ix::chare<census_taker, ix::index1d> {
  int count() {
    int n = 0;
    const ix::collection_id all = ix::detail::singles_of<loner>();
    ix::chare_pe::current().find_collection(all)->for_each_known([&](ix::element_base&) { ++n; });
    return n;
  }
};

ix::task<int> many(ix::runtime& rt, int count) {
  const auto takers = rt.create_group<census_taker>();
  for (int i = 0; i < count; ++i) {
    const one c = rt.create<loner>("x");
    c.send<&loner::append>("y");
    if (i % 3 == 0) c.send<&loner::go>(i % rt.num_pes());
    c.erase();
    if (i % 500 == 499) co_await rt.quiescence();
  }
  co_await rt.quiescence();
  EXPECT_EQ(alive, 0);
  for (int p = 0; p < rt.num_pes(); ++p) {
    const int known = co_await takers[p].call<&census_taker::count>();
    EXPECT_EQ(known, 0) << "on PE " << p;
  }
  co_return 0;
}

TEST(singleton, leaves_nothing_behind) {
  for (const job_shape& s : {job_shape{1, 1}, {3, 1}, {1, 2}, {2, 2}})
    EXPECT_EQ(imbrex_test::run_job_with(s, many, 5000), 0) << to_text(s);
}

TEST(singleton, with_contribution_needs_a_target_and_is_alone) {
  struct told : ix::chare<told> {
    void result(double v) { value = v; }
    void speak() { contribute(2.5, ix::sum, ix::deliver<&told::result>(proxy())); }
    double get() { return value; }
    double value = 0;
  };
  struct program {
    static ix::task<int> start(ix::runtime& rt) {
      const auto t = rt.create<told>();
      t.template send<&told::speak>();
      co_await rt.quiescence();
      const double v = co_await t.template call<&told::get>();
      EXPECT_EQ(v, 2.5);
      co_return 0;
    }
  };
  run_over_all_shapes(&program::start);
}

}  // namespace

}  // namespace singleton_test
