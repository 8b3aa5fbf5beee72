#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <string>
#include <vector>

#include "unit/object/job.h"

namespace callback_test {

/// Callbacks, futures, slots without a number, creation on demand, node groups: who does not know whom.
namespace {

namespace ix = imbrex;
using imbrex_test::run_over_all_shapes;
using testing::HasSubstr;

// Two classes that know each other, the first before the second is complete.
struct client;
struct service : ix::chare<service, ix::index2d> {
  explicit service(ix::element_proxy<client> c) : owner(c) {}
  void solve(int n, ix::callback<int, std::string> done) { done.send(n * n, fmt::format("by {}", index().x)); }
  void report_to_owner();
  void norm(ix::callback<double> done) { contribute(1.0 + index().x, ix::sum, done); }
  void all_done(ix::callback<> done) { contribute(1, ix::sum, done); }
  ix::element_proxy<client> owner;
  ix::array_proxy<client> nobody;
  ix::section_proxy<client> no_section;
};
struct client : ix::chare<client> {
  void solved(int value, const std::string& who) { log.push_back(fmt::format("{} {}", value, who)); }
  void told(double v) { sum = v; }
  void nothing() { ++calls; }
  std::vector<std::string> get_log() { return log; }
  double get_sum() { return sum; }
  int get_calls() { return calls; }
  ix::array_proxy<service> services;
  std::vector<std::string> log;
  double sum = 0;
  int calls = 0;
};
void service::report_to_owner() { owner.send<&client::nothing>(); }

ix::task<int> callbacks(ix::runtime& rt) {
  const auto c = rt.create<client>();
  const auto services = rt.create_array<service>(ix::index2d{3, 1}, c);
  services[{2, 0}].send<&service::solve>(7, ix::callback<int, std::string>::to<&client::solved>(c));
  services[{1, 0}].send<&service::solve>(8, ix::callback<int, std::string>());  // empty: nobody is told
  services.broadcast<&service::report_to_owner>();
  services.broadcast<&service::norm>(ix::callback<double>::to<&client::told>(c));
  services.broadcast<&service::all_done>(ix::callback<>::to<&client::nothing>(c));
  co_await rt.quiescence();
  const std::vector<std::string> log = co_await c.call<&client::get_log>();
  EXPECT_THAT(log, testing::ElementsAre("49 by 2"));
  const double sum = co_await c.call<&client::get_sum>();
  EXPECT_EQ(sum, 6);
  const int calls = co_await c.call<&client::get_calls>();
  EXPECT_EQ(calls, 3 + 1);
  co_return 0;
}

TEST(callback, tells_an_entry_method_and_takes_reductions) { run_over_all_shapes(callbacks); }

ix::task<int> futures(ix::runtime& rt) {
  const auto c = rt.create<client>();
  const auto services = rt.create_array<service>(ix::index2d{4, 1}, c);
  for (int round = 0; round < 5; ++round) {
    ix::future<int, std::string> first;
    ix::future<double> norm;
    const auto first_callback = first.get_callback();
    const auto norm_callback = norm.get_callback();
    services[{3, 0}].send<&service::solve>(round, first_callback);
    services[{2, 0}].send<&service::solve>(100, first_callback);  // one of the two is dropped
    services.broadcast<&service::norm>(norm_callback);
    const auto [sum] = co_await norm;
    EXPECT_EQ(sum, 10);
    const auto [value, who] = co_await first;
    EXPECT_TRUE(value == round * round || value == 10000) << value << who;
    ix::future<int, std::string> forgotten;
    services[{0, 0}].send<&service::solve>(1, forgotten.get_callback());
  }
  co_await rt.quiescence();
  co_return 0;
}

TEST(future, is_awaited_before_or_after_its_answer_or_never) { run_over_all_shapes(futures); }

struct inbox : ix::chare<inbox, ix::index1d> {
  ix::slot<int, std::string> letters;
  ix::slot<> bells;
  ix::task<std::vector<std::string>> read(int count) {
    std::vector<std::string> all;
    for (int k = 0; k < count; ++k) {
      auto [n, text] = co_await letters();
      all.push_back(fmt::format("{}{}", text, n));
    }
    co_await bells();
    co_return all;
  }
};

ix::task<int> slots(ix::runtime& rt) {
  const auto boxes = rt.create_array<inbox>(ix::index1d(2));
  for (int k = 0; k < 3; ++k) boxes[1].send<&inbox::letters>(k, "letter ");
  co_await rt.quiescence();
  boxes[1].send<&inbox::bells>();
  std::vector<std::string> all = co_await boxes[1].call<&inbox::read>(3);
  std::sort(all.begin(), all.end());  // a random schedule may change the order
  EXPECT_THAT(all, testing::ElementsAre("letter 0", "letter 1", "letter 2"));
  co_return 0;
}

TEST(slot, takes_messages_without_a_number) { run_over_all_shapes(slots); }

struct cell : ix::chare<cell, ix::index1d> {
  void add(int n) { sum += n; }
  int get() { return sum; }
  int sum = 0;
};
struct hasty : ix::chare<hasty, ix::index1d> {
  void add(ix::array_proxy<cell> cells, int i) {
    cells.insert_if_absent(i);
    cells[i].send<&cell::add>(1);
  }
};

ix::task<int> on_demand(ix::runtime& rt) {
  const auto cells = rt.create_array<cell>(ix::empty_array<ix::index1d>());
  const auto all = rt.create_group<hasty>();
  for (int i = 0; i < 6; ++i) all.broadcast<&hasty::add>(cells, i);
  co_await rt.quiescence();
  for (int i = 0; i < 6; ++i) {
    const int sum = co_await cells[i].call<&cell::get>();
    EXPECT_EQ(sum, rt.num_pes());
  }
  cells.destroy();
  co_await rt.quiescence();
  co_await cells.insert_if_absent(3);
  const int again = co_await cells[3].call<&cell::get>();
  EXPECT_EQ(again, 0);
  co_return 0;
}

TEST(insertion, on_demand_by_everybody_makes_one) { run_over_all_shapes(on_demand); }

struct per_rank : ix::chare<per_rank, ix::index1d> {
  void check() {
    EXPECT_EQ(rank(), index().x);
    EXPECT_EQ(pe() % rt().pes_per_rank(), 0);
    contribute(1, ix::sum);
  }
};
struct per_pe : ix::chare<per_pe, ix::index1d> {
  void check() { contribute(array().local_branch() == this ? 1 : 0, ix::sum); }
};

ix::task<int> groups(ix::runtime& rt) {
  const auto nodes = rt.create_node_group<per_rank>();
  nodes.broadcast<&per_rank::check>();
  const int ranks = co_await nodes.reduction<int>();
  EXPECT_EQ(ranks, rt.num_ranks());
  const auto pes = rt.create_group<per_pe>();
  pes.broadcast<&per_pe::check>();
  const int own = co_await pes.reduction<int>();
  EXPECT_EQ(own, rt.num_pes());
  co_return 0;
}

TEST(group, of_nodes_has_an_element_on_each_rank_and_groups_a_local_branch) { run_over_all_shapes(groups); }

/// Uses the group's element of its PE, in its constructor and whenever it is spoken to.
struct user_of_group : ix::chare<user_of_group, ix::index1d> {
  explicit user_of_group(ix::array_proxy<cell> g) { g.local_branch()->add(1); }
  void use(ix::array_proxy<cell> g) {
    g.local_branch()->add(1);
    contribute(1, ix::sum);
  }
};
struct single_user : ix::chare<single_user> {
  explicit single_user(ix::array_proxy<cell> g) { g.local_branch()->add(1); }
};

/// Of groups that are made when their users are there, and spoken to at once.
ix::task<int> use_new_groups(ix::runtime& rt) {
  const auto first = rt.create_group<cell>();
  const auto users = rt.create_array<user_of_group>(24, first);
  for (int round = 0; round < 5; ++round) {
    const auto g = rt.create_group<cell>();
    for (int i = 0; i < 24; ++i) users[i].send<&user_of_group::use>(g);
    for (int pe = 0; pe < rt.num_pes(); ++pe) rt.create_on<single_user>(pe, g);
    const int used = co_await users.reduction<int>();
    EXPECT_EQ(used, 24);
    users.broadcast<&user_of_group::use>(rt.create_group<cell>());
    const int again = co_await users.reduction<int>();
    EXPECT_EQ(again, 24);
    co_await rt.quiescence();
    int sum = 0;
    for (int pe = 0; pe < rt.num_pes(); ++pe) {
      const int one = co_await g[pe].call<&cell::get>();
      sum += one;
    }
    EXPECT_EQ(sum, 24 + rt.num_pes());
  }
  co_return 0;
}

TEST(group, has_its_local_branch_wherever_its_proxy_is_an_argument) {
  run_over_all_shapes(use_new_groups);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_EQ(imbrex_test::run_job_with({2, 3, seed, 200}, use_new_groups), 0) << seed;
    EXPECT_EQ(imbrex_test::run_job_with({5, 1, seed}, use_new_groups), 0) << seed;
  }
}

struct restless : ix::chare<restless, ix::index1d> {
  void go(int to) { migrate_to(to); }
  int where() const { return index().x; }
  template <class Archive>
  void serialize(Archive&) {}
};

ix::task<int> move_of_a_group(ix::runtime& rt) {
  const auto g = rt.create_group<restless>();
  bool refused = false;
  try {
    co_await g[0].call<&restless::go>(rt.num_pes() - 1);
  } catch (const ix::usage_error& e) {
    EXPECT_THAT(e.what(),
                testing::HasSubstr("restless(0) cannot move to PE 1: an element of a group stays on its own"));
    refused = true;
  }
  EXPECT_TRUE(refused);
  EXPECT_NE(g.local_branch(), nullptr);
  const auto a = rt.create_array<restless>(3);
  co_await rt.quiescence();
  EXPECT_NE(a.local({0}), nullptr);
  a[0].send<&restless::go>(1);
  co_await rt.quiescence();
  EXPECT_THROW(static_cast<void>(a.local_branch()), ix::usage_error);
  co_return 0;
}

TEST(group, stays_where_it_is) { EXPECT_EQ(imbrex_test::run_job_with({2, 1}, move_of_a_group), 0); }

ix::readonly<ix::array_proxy<cell>> shared_cells;

struct reader : ix::chare<reader, ix::index1d> {
  void use() { (*shared_cells)[0].send<&cell::add>(1); }
};

ix::task<int> shared(ix::runtime& rt) {
  const auto cells = rt.create_array<cell>(ix::index1d(2));
  co_await shared_cells.share(cells);
  const auto readers = rt.create_group<reader>();
  readers.broadcast<&reader::use>();
  co_await rt.quiescence();
  const int sum = co_await cells[0].call<&cell::get>();
  EXPECT_EQ(sum, rt.num_pes());
  co_return 0;
}

TEST(readonly, may_hold_proxies_that_the_main_chare_shares) { run_over_all_shapes(shared); }

struct waits : ix::chare<waits, ix::index1d> {
  ix::task<> listen() { co_await never(4); }
  ix::when<int> never;
};
ix::task<int> left_waiting(ix::runtime& rt) {
  const auto a = rt.create_array<waits>(ix::index1d(2));
  a[1].send<&waits::listen>();
  co_await rt.quiescence();
  co_return 3;
}

TEST(wait, that_is_left_over_at_the_end_is_warned_of) {
  for (const imbrex_test::job_shape& s : {imbrex_test::job_shape{1, 1}, {3, 1}, {1, 2}}) {
    const auto [code, errors] = imbrex_test::run_and_listen(s, left_waiting);
    EXPECT_EQ(code, 3);
    EXPECT_THAT(errors, HasSubstr("waits::listen of "));
    EXPECT_THAT(errors, HasSubstr(" waits for imbrex::when<int> with reference 4"));
  }
}

}  // namespace

}  // namespace callback_test
