#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace process_domain_test {

// Objects and tasks that all PEs of a process use.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using word = std::uint64_t;
using object = ix::hetero_object<word>;
using reference = ix::object_reference<word>;

const std::vector<job_shape> shapes{
    {1, 1},
    {2, 1},
    {4, 1},
    {3, 1, 5},
    {7, 1},
    {3, 1, 0, 0, true},
    {9, 1, 11, 0, true},
#if IMBREX_HAVE_TOML
    {4, 1, 0, 0, false, true},
#endif
};

template <class Start>
void run_over_shapes(Start start) {
  for (const job_shape& s : shapes) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_job_with(s, start), 0);
  }
}

void fill(std::span<word> x, word v) { std::ranges::fill(x, v); }
void add(std::span<word> x, word v) {
  for (word& e : x) e += v;
}

ix::task<word> sum_of(object x) {
  auto access = x.host(ix::access_mode::read);
  const auto view = co_await access;
  co_return std::accumulate(view.begin(), view.end(), word{0});
}

// ------------------------------------------------------------------------------------------------ all at once

struct adder : ix::chare<adder, ix::index1d> {
  ix::task<> work(reference sum, int times) {
    const object x = sum.get();
    sum = {};
    ix::hetero_task last;
    for (int i = 0; i < times; ++i) {
      const object copy = x;
      last = i % 2 == 0 ? ix::submit({.name = "add"}, add, x, word{1}) : ix::submit({}, add, commute(copy), word{1});
    }
    co_await last;
    const word seen = co_await sum_of(x);
    EXPECT_GE(seen, static_cast<word>(times) * x.size());
    contribute(1, ix::sum);
  }
};

ix::task<int> all_add(ix::runtime& rt) {
  constexpr int times = 200;
  ix::hetero_domain& all = co_await ix::process_domain();
  object x(all, 3);
  ix::submit({}, fill, write(x), word{0});
  auto adders = rt.create_array<adder>(2 * rt.num_pes());
  for (int i = 0; i < 2 * rt.num_pes(); ++i) adders[i].send<&adder::work>(reference(x), times);
  co_await adders.reduction<int>();
  const word sum = co_await sum_of(x);
  EXPECT_EQ(sum, static_cast<word>(2 * rt.num_pes()) * 3 * times);
  co_return 0;
}

TEST(process_domain, has_objects_that_all_pes_change) { run_over_shapes(all_add); }

struct maker : ix::chare<maker, ix::index1d> {
  ix::task<word> make(int num) {
    ix::hetero_domain& all = co_await ix::process_domain();
    word sum = 0;
    std::vector<object> mine;
    for (int i = 0; i < num; ++i) {
      const object& x = mine.emplace_back(all, 10);
      ix::submit({}, fill, write(x), static_cast<word>(i));
      ix::submit({}, add, x.slice(2, 4).slice(1, 2), word{7});
      auto throttle = all.fewer_than(20);
      co_await throttle;
    }
    auto over = all.all_over();
    co_await over;
    for (const object& x : mine) sum += co_await sum_of(x);
    object own(5);  // of this PE alone, as ever
    ix::submit({}, fill, write(own), word{1});
    sum += co_await sum_of(own);
    co_return sum;
  }
};

ix::task<int> all_make(ix::runtime& rt) {
  constexpr int num = 100;
  auto makers = rt.create_array<maker>(rt.num_pes());
  for (int i = 0; i < rt.num_pes(); ++i) {
    const word sum = co_await makers[i].call<&maker::make>(num);
    EXPECT_EQ(sum, 10U * (num * (num - 1) / 2) + 14U * num + 5U);
  }
  co_return 0;
}

TEST(process_domain, takes_objects_parts_and_waits_of_any_pe) { run_over_shapes(all_make); }

// ------------------------------------------------------------------------------------------------ in an order

/// What is done, by turns on all PEs, and what should have come out by now.
struct token {
  word state = 0;  // of the random numbers
  std::vector<std::vector<word>> model;
  int hops_left = 0;

  word next() { return (state = state * 6364136223846793005U + 1442695040888963407U) >> 17; }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & state & model & hops_left;
  }
};

constexpr std::size_t size = 63;

struct player : ix::chare<player, ix::index1d> {
  void begin(std::vector<reference> all) {
    for (const reference& r : all) objects_.push_back(r.get());
  }

  ix::task<> play(token t) {
    std::vector<check> checks;
    const auto num = t.next() % 6;
    for (std::size_t i = 0; i < num; ++i) turn(t, checks);
    if (--t.hops_left >= 0) {
      const auto next = static_cast<int>(t.next() % static_cast<std::size_t>(extent().x));
      array()[next].send<&player::play>(std::move(t));
    }
    for (check& c : checks) {
      if (c.reads) {
        const auto view = co_await *c.reads;
        EXPECT_TRUE(std::ranges::equal(view, c.expected));
      } else {
        const auto view = co_await *c.changes;
        EXPECT_TRUE(std::ranges::equal(view, c.expected));
        for (word& e : view) e = e * 3 + 1;
      }
    }
  }

 private:
  struct check {
    std::optional<ix::host_access<const word>> reads;
    std::optional<ix::host_access<word>> changes;
    std::vector<word> expected;
  };

  void turn(token& t, std::vector<check>& checks) {
    const auto pick = [&](std::size_t n) { return static_cast<std::size_t>(t.next() % n); };
    const std::size_t a = pick(objects_.size()), b = (a + 1 + pick(objects_.size() - 1)) % objects_.size();
    std::vector<word>&ma = t.model[a], &mb = t.model[b];
    const object x = objects_[a], y = objects_[b];
    switch (pick(8)) {
      case 0: {
        const word v = t.next();
        ix::submit({.priority = static_cast<int>(pick(3))}, fill, write(x), v);
        std::ranges::fill(ma, v);
        break;
      }
      case 1: {
        const auto mix = [](std::span<word> to, std::span<const word> from) {
          for (std::size_t i = 0; i < to.size(); ++i) to[i] = to[i] * 5 + from[i];
        };
        ix::submit({}, mix, x, y);
        mix(ma, mb);
        break;
      }
      case 2: {
        const std::size_t from = pick(size), n = 1 + pick(size - from);
        ix::submit({}, add, x.slice(from, n), word{from + 1});
        add(std::span(ma).subspan(from, n), from + 1);
        break;
      }
      case 3: checks.push_back({x.host(ix::access_mode::read), {}, ma}); break;
      case 4:
        checks.push_back({{}, x.host(ix::access_mode::read_write), ma});
        for (word& e : ma) e = e * 3 + 1;
        break;
      case 5:
        x.evict();
        objects_[a] = object(x);
        break;
      case 6:
        last_ = ix::submit({.after = std::span(&last_, last_.node() != nullptr ? 1 : 0)}, add, commute(y), word{9});
        add(mb, 9);
        break;
      default: {
        const std::size_t from = pick(size - 1);
        const auto square = [](std::span<word> v) {
          for (word& e : v) e *= e;
        };
        ix::submit({}, square, x.slice(from, size - from));
        square(std::span(ma).subspan(from));
      }
    }
  }

  std::vector<object> objects_;
  ix::hetero_task last_;
};

ix::task<int> play_games(ix::runtime& rt, unsigned first, unsigned num_games) {
  constexpr std::size_t num = 5;
  for (unsigned seed = first; seed < first + num_games; ++seed) {
    ix::hetero_domain& all = co_await ix::process_domain();
    auto players = rt.create_array<player>(rt.num_pes() + 2);
    {
      std::vector<reference> references;
      token t{seed, std::vector(num, std::vector<word>(size, 1)), 150};
      for (std::size_t i = 0; i < num; ++i) {
        object x(all, size);
        ix::submit({}, fill, write(x), word{1});
        references.emplace_back(x);
      }
      for (int i = 0; i < rt.num_pes() + 2; ++i) {
        co_await players[i].call<&player::begin>(references);
      }
      references.clear();
      players[0].send<&player::play>(std::move(t));
    }
    co_await rt.quiescence();
  }
  co_return 0;
}

ix::task<int> play(ix::runtime& rt) { return play_games(rt, 1, 6); }

TEST(process_domain, keeps_the_order_that_messages_say) { run_over_shapes(play); }

/// One thread runs the PEs, a step of one that is chosen at random at a time.
TEST(process_domain, keeps_the_order_in_many_schedules) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    const job_shape s{.pes = 2 + static_cast<int>(seed % 3), .seed = seed, .one_thread = true};
    EXPECT_EQ(run_job_with(s, play_games, 100 * seed, 2U), 0) << to_text(s);
  }
}

// ------------------------------------------------------------------------------------------------ moves and tiles

struct wanderer : ix::chare<wanderer, ix::index1d> {
  ix::task<> work(reference to, int times) {
    const object x = to.get();
    to = {};
    for (int i = 0; i < times; ++i) {
      ix::submit({}, add, x.slice(static_cast<std::size_t>(i) % 3, 1), word{1});
      migrate_to((pe() + 1) % num_pes());
      co_await ix::move_point(*this);
    }
    contribute(1, ix::sum);
  }
};

ix::task<int> wander(ix::runtime& rt) {
  ix::hetero_domain& all = co_await ix::process_domain();
  object x(all, 3);
  ix::submit({}, fill, write(x), word{0});
  auto some = rt.create_array<wanderer>(5);
  for (int i = 0; i < 5; ++i) some[i].send<&wanderer::work>(reference(x), 30);
  co_await some.reduction<int>();
  const word sum = co_await sum_of(x);
  EXPECT_EQ(sum, 5U * 30U);
  co_return 0;
}

TEST(process_domain, has_handles_that_move_with_their_chares) { run_over_shapes(wander); }

void add_to_tile(ix::tile_view<word> v, word term) {
  for (std::size_t j = 0; j < v.extent(1); ++j)
    for (std::size_t i = 0; i < v.extent(0); ++i) v(i, j) += term;
}

struct tiler : ix::chare<tiler, ix::index1d> {
  ix::task<> work(reference memory) {
    const ix::hetero_grid<word> grid = ix::hetero_grid<word>::of(memory.get(), {8, 6});
    memory = {};
    for (std::size_t j = 0; j < 5; ++j) {
      for (std::size_t i = 0; i < 7; ++i) ix::submit({}, add_to_tile, grid.tile({i, j}, {2, 2}), word{1});
    }
    const auto nested = [grid] {
      const ix::hetero_grid<word> inner = grid.tile({1, 1}, {6, 4});
      ix::submit({}, add_to_tile, inner.tile({2, 1}, {2, 2}), word{1000});
    };
    co_await ix::submit(*grid.domain(), {}, nested);
    auto access = grid.tile({3, 2}, {2, 2}).host(ix::access_mode::read);
    const auto view = co_await access;
    EXPECT_GE(view(0, 0), 1000U);
    contribute(1, ix::sum);
  }
};

ix::task<int> tile(ix::runtime& rt) {
  ix::hetero_domain& all = co_await ix::process_domain();
  object x(all, 48);
  ix::submit({}, fill, write(x), word{0});
  auto tilers = rt.create_array<tiler>(rt.num_pes());
  for (int i = 0; i < rt.num_pes(); ++i) tilers[i].send<&tiler::work>(reference(x));
  co_await tilers.reduction<int>();
  const word sum = co_await sum_of(x);
  EXPECT_EQ(sum, static_cast<word>(rt.num_pes()) * (35 * 4 + 4000));
  co_return 0;
}

TEST(process_domain, has_grids_whose_tiles_any_pe_and_any_task_takes) { run_over_shapes(tile); }

// ------------------------------------------------------------------------------------------------ failures

template <class Awaitable>
ix::task<std::string> error_of(Awaitable a) {
  try {
    co_await a;
  } catch (const std::exception& e) {
    co_return e.what();
  }
  co_return "";
}

/// Refused at once on the PE of the objects, and later elsewhere.
ix::task<> add_early(object unwritten) { co_await ix::submit({.name = "early"}, add, unwritten, word{1}); }

struct failing : ix::chare<failing, ix::index1d> {
  ix::task<> fail(reference to) {
    const object x = to.get();
    const auto is_about = [](const std::string& what, const char* part) {
      EXPECT_NE(what.find(part), std::string::npos) << what;
    };
    const ix::hetero_task bad = ix::submit({.name = "bad"}, [](std::span<word>) { throw std::runtime_error("no"); }, x);
    const ix::hetero_task after = ix::submit({.name = "after"}, add, x, word{1});
    is_about(co_await error_of(after), "'bad'");
    is_about(co_await error_of(bad), "no");
    auto access = x.host(ix::access_mode::read);
    EXPECT_THROW(co_await access, ix::error);
    const object unwritten(*x.domain(), 2);
    is_about(co_await error_of(add_early(unwritten)), "nobody has written it");
    if (pe() != 0) {
      const object own(3);
      const auto two = [](std::span<word>, std::span<word>) {};
      EXPECT_THROW(ix::submit({}, two, write(x), write(own)), ix::usage_error);
      EXPECT_THROW(ix::submit({}, two, write(own), write(x)), ix::usage_error);
      EXPECT_THROW(reference{own}, ix::usage_error);
      EXPECT_THROW(static_cast<void>(bad.done()), ix::usage_error);
      EXPECT_THROW(bad.cancel(), ix::usage_error);
    }
    ix::submit({.name = "worse"}, [](std::span<word>) { throw std::runtime_error("nor this"); }, write(x));
    auto over = x.domain()->all_over();
    EXPECT_THROW(co_await over, ix::error);
    ix::submit({}, fill, write(x), word{0});
  }
};

ix::task<int> some_fail(ix::runtime& rt) {
  ix::hetero_domain& all = co_await ix::process_domain();
  object x(all, 3);
  ix::submit({}, fill, write(x), word{0});
  auto each = rt.create_array<failing>(rt.num_pes());
  for (int i = 0; i < rt.num_pes(); ++i) co_await each[i].call<&failing::fail>(reference(x));
  const word sum = co_await sum_of(x);
  EXPECT_EQ(sum, 0U);
  co_return 0;
}

TEST(process_domain, has_tasks_whose_failures_any_pe_sees) { run_over_shapes(some_fail); }

struct careless : ix::chare<careless, ix::index1d> {
  void submit(reference to) {
    ix::submit({.name = "unseen"}, [](std::span<word>) { throw std::runtime_error("nobody looks"); }, to.get());
  }
  ix::task<> wait_for_ever(reference to) {
    const object x = to.get();
    contribute(1, ix::sum);
    auto access = x.host(ix::access_mode::write);
    co_await access;
  }
};

TEST(process_domain, has_tasks_whose_failures_end_the_job_when_nobody_sees_them) {
  const job_outcome o = run_and_listen(
      {4, 1}, +[](ix::runtime& rt) -> ix::task<int> {
        ix::hetero_domain& all = co_await ix::process_domain();
        object x(all, 3);
        ix::submit({}, fill, write(x), word{0});
        rt.create_array<careless>(4)[3].send<&careless::submit>(reference(x));
        co_return 0;
      });
  EXPECT_EQ(o.code, 70);
  EXPECT_NE(o.errors.find("nobody looks"), std::string::npos) << o.errors;
}

ix::task<int> leave_waiting(ix::runtime& rt) {
  ix::hetero_domain& all = co_await ix::process_domain();
  object x(all, 3);
  ix::submit({}, fill, write(x), word{0});
  auto each = rt.create_array<careless>(rt.num_pes());
  auto access = x.host(ix::access_mode::read);
  const auto view = co_await access;
  for (int i = 0; i < rt.num_pes(); ++i) each[i].send<&careless::wait_for_ever>(reference(x));
  co_await each.reduction<int>();
  rt.exit(4);
  co_await rt.quiescence();
  co_return 0;
}

TEST(process_domain, may_be_waited_for_when_the_job_ends) {
  for (const job_shape& s : shapes) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_job_with(s, leave_waiting), 4);
  }
}

TEST(process_domain, waited_for_in_vain_is_a_deadlock_that_names_the_view) {
  const job_outcome o = run_and_listen(
      {3, 1}, +[](ix::runtime& rt) -> ix::task<int> {
        ix::hetero_domain& all = co_await ix::process_domain();
        object x(all, 3);
        ix::submit({}, fill, write(x), word{0});
        auto access = x.host(ix::access_mode::read);
        const auto view = co_await access;
        co_await rt.create_array<careless>(3)[2].call<&careless::wait_for_ever>(reference(x));
        co_return 0;
      });
  EXPECT_NE(o.code, 0);
  EXPECT_NE(o.errors.find("host view"), std::string::npos) << o.errors;
  EXPECT_NE(o.errors.find("which another PE has"), std::string::npos) << o.errors;
}

TEST(process_domain, has_references_that_do_not_leave_the_process) {
  const job_outcome o = run_and_listen(
      {2, 2}, +[](ix::runtime& rt) -> ix::task<int> {
        ix::hetero_domain& all = co_await ix::process_domain();
        object x(all, 3);
        rt.create_array<careless>(4)[3].send<&careless::submit>(reference(x));
        co_return 0;
      });
  EXPECT_NE(o.code, 0);
  EXPECT_NE(o.errors.find("to another process"), std::string::npos) << o.errors;
}

}  // namespace

}  // namespace process_domain_test
