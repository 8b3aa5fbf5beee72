#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "unit/object/job.h"
#include "unit/object/moving/tournament.h"

namespace channel_ports_test {

// Ports that serve one channel after another.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;

ix::task<int> tournament(ix::runtime& rt, bool one_partner, std::uint64_t seed) {
  const int n = 6;
  const auto players = rt.create_array<player>(ix::index1d(n));
  auto played = play_all(players, n, 60, seed, one_partner);
  const tournament_counts c = co_await std::move(played);
  EXPECT_EQ(c.errors, 0);
  if (rt.num_ranks() > 1) {
    EXPECT_GT(c.crossings, n);
  }
  co_return 0;
}

TEST(channel_ports, serve_one_chare_after_another) {
  for (const std::uint64_t seed : {1u, 2u}) run_over_all_shapes(tournament, false, seed);
}
TEST(channel_ports, serve_one_chare_again_and_again) {
  for (const std::uint64_t seed : {3u, 4u}) run_over_all_shapes(tournament, true, seed);
}
TEST(channel_ports, are_not_mixed_up_by_any_schedule) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const job_shape& s : {job_shape{1, 2, seed}, {2, 2, seed, 20}, {1, 2, seed, 0, true}, {3, 1, seed}}) {
      SCOPED_TRACE(to_text(s));
      EXPECT_EQ(run_job_with(s, tournament, seed % 2 == 0, seed), 0);
    }
  }
}

/// One that has told another of itself, which then speaks to a third.
struct speaker : ix::chare<speaker, ix::index1d> {
  void go(int to) { migrate_to(to); }
  void open_and_close(int other) { ix::channel<int> c(*this, array()[other], 0, 0); }
  ix::task<int> exchange(int other) {
    ix::channel<int> c(*this, array()[other], 0, 0);
    std::vector<int> out(3000, index().x), in(3000);
    const auto sent = c.send(ix::buffer_view<const int>(out), streams().pack);
    co_await c.recv(ix::buffer_view<int>(in), streams().unpack);
    co_await streams().unpack.done();
    co_await sent;
    co_return in.back();
  }
  int where() { return pe(); }
  template <class Archive>
  void serialize(Archive&) {}
};

ix::task<int> look_elsewhere(ix::runtime& rt) {
  const auto all = rt.create_array<speaker>(ix::placed(ix::index1d(3), ix::map::round_robin{}));
  all[2].send<&speaker::go>(0);  // from its home, which believes no older news afterwards
  co_await rt.quiescence();
  for (const int to : {2, 0, 2}) {
    all[1].send<&speaker::go>(to);  // as often: it knows more
    co_await rt.quiescence();
  }
  all[1].send<&speaker::go>(1);
  co_await rt.quiescence();
  all[0].send<&speaker::go>(2);
  co_await rt.quiescence();
  all[1].send<&speaker::open_and_close>(0);
  co_await rt.quiescence();
  auto both = ix::when_all(all[0].call<&speaker::exchange>(2), all[2].call<&speaker::exchange>(0));
  const auto [of_2, of_0] = co_await std::move(both);
  EXPECT_EQ(of_2, 2);
  EXPECT_EQ(of_0, 0);
  const int where = co_await all[2].call<&speaker::where>();
  EXPECT_EQ(where, 0);
  co_return 0;
}
// Element 2 was thought to be where element 1 is, for good, and nothing found it any more.
TEST(channel_ports, believe_no_place_that_another_chare_told) { EXPECT_EQ(run_job_with({1, 3}, look_elsewhere), 0); }

/// Two that send three times to one port by three channels, of which the second is at another port of the sender.
struct mailer : ix::chare<mailer, ix::index1d> {
  ix::task<> send_from(std::vector<int> ports) {
    for (const int port : ports) {
      ix::channel<int> c(*this, array()[1 - index()], port, 5);
      const std::vector<int> out(100, port);
      const auto sent = c.send(ix::buffer_view<const int>(out), streams().pack);
      co_await sent;
    }
  }
  ix::task<std::vector<int>> receive(std::vector<int> ports) {
    std::vector<int> got;
    for (const int port : ports) {
      ix::channel<int> c(*this, array()[1 - index()], 5, port);
      const ix::received<int> r = co_await c.borrow();
      got.push_back(r.data()[0]);
    }
    co_return got;
  }
};

ix::task<int> send_from_ports(ix::runtime& rt) {
  const auto both = rt.create_array<mailer>(ix::index1d(2));
  const std::vector<int> ports{0, 7, 0};
  auto all = ix::when_all(both[0].call<&mailer::send_from>(ports), both[1].call<&mailer::receive>(ports));
  const auto [nothing, got] = co_await std::move(all);
  static_cast<void>(nothing);
  EXPECT_EQ(got, ports);
  co_return 0;
}
TEST(channel_ports, may_be_sent_to_from_several_ports_one_after_another) { run_over_all_shapes(send_from_ports); }

/// One that takes another's place has channels to those whom that one had some with.
struct heir : ix::chare<heir, ix::index1d> {
  ix::task<int> exchange(int other) {
    ix::channel<int> c(*this, array()[other], 0, 0);
    std::vector<int> out(2000, 10 + index().x);
    const auto sent = c.send(ix::buffer_view<const int>(out), streams().pack);
    int got = 0;
    {
      const ix::received<int> r = co_await c.borrow();
      got = r.data()[1999];
    }
    co_await sent;
    co_return got;
  }
};

ix::task<int> inherit(ix::runtime& rt) {
  auto both = rt.create_array<heir>(ix::index1d(2));
  for (int life = 0; life < 4; ++life) {
    for (int k = 0; k < 3; ++k) {
      auto calls = ix::when_all(both[0].call<&heir::exchange>(1), both[1].call<&heir::exchange>(0));
      const auto [of_1, of_0] = co_await std::move(calls);
      EXPECT_EQ(of_1, 11);
      EXPECT_EQ(of_0, 10);
    }
    co_await rt.quiescence();
    both[life % 2].erase();
    co_await rt.quiescence();
    co_await both.insert(life % 2);
  }
  co_return 0;
}
TEST(channel_ports, serve_those_who_take_another_ones_place) { run_over_all_shapes(inherit); }

}  // namespace

}  // namespace channel_ports_test
