#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "unit/object/job.h"
#include "unit/object/moving/moving_ring.h"

namespace channel_crossing_test {

// Chares that go to other processes with their channels open.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;

template <class Ring>
ix::task<int> rings(ix::runtime& rt, int n, std::uint64_t seed) {
  const auto ring = rt.create_array<Ring>(ix::index1d(n));
  auto gone_round = go_round(ring, n, 40, seed, 3);
  const ring_counts c = co_await std::move(gone_round);
  EXPECT_EQ(c.errors, 0);
  if (rt.num_pes() > 1) {
    EXPECT_GT(c.moves, n / 2);
  }
  if (rt.num_ranks() > 1) {
    EXPECT_GT(c.crossings, n / 2);
  }
  if (rt.num_ranks() > 1 && n > 2) {
    EXPECT_GT(c.calls, n) << "no coroutine was called again";
  }
  co_return 0;
}

TEST(channel_crossing, takes_channels_along_that_the_constructor_opens_again) {
  for (const std::uint64_t seed : {1u, 2u}) run_over_all_shapes(rings<moving_ring<opening::by_constructor>>, 7, seed);
}
TEST(channel_crossing, takes_channels_along_that_serialize_names) {
  for (const std::uint64_t seed : {3u, 4u}) run_over_all_shapes(rings<moving_ring<opening::by_serialize>>, 7, seed);
}
TEST(channel_crossing, takes_channels_along_that_the_coroutine_opens_again) {
  for (const std::uint64_t seed : {5u, 6u}) run_over_all_shapes(rings<moving_ring<opening::by_coroutine>>, 7, seed);
}
TEST(channel_crossing, takes_channels_along_to_oneself_and_to_one_other) {
  for (const int n : {1, 2}) run_over_all_shapes(rings<moving_ring<opening::by_serialize>>, n, 7u);
}

TEST(channel_crossing, is_the_same_whichever_way_data_go) {
  for (const char* way : {"packed", "staged", "direct", "shared"}) {
    for (const job_shape& s : {job_shape{1, 2}, {2, 2}, {2, 3, 4, 50}, {3, 2, 8, 20, true}}) {
      SCOPED_TRACE(to_text(s) + ", " + way);
      command_line line(s, {std::string("--imbrex-protocol=") + way});
      EXPECT_EQ(ix::run(line.count(), line.values(), rings<moving_ring<opening::by_constructor>>, 5, 9u), 0);
    }
  }
}

/// Two that send to each other on two channels, with a move point between the sends, and receive in the other order:
/// what the first has lent comes back only after the second has been sent.
struct crossed : ix::chare<crossed, ix::index1d> {
  crossed() {
    for (int k = 0; k < 2; ++k) {
      to[k] = ix::channel<double>(*this, array()[1 - index().x], k, 2 + k);
      from[k] = ix::channel<double>(*this, array()[1 - index().x], 2 + k, k);
    }
  }
  ix::task<int> run() {
    std::vector<double> in(length);
    std::vector<std::vector<double>> out(2);
    while (step < 30) {
      if (!half_way) {
        out[0].assign(length, step);
        to[0].send(ix::buffer_view<const double>(out[0]), streams().pack);
        half_way = true;
        migrate_to((pe() + 1) % num_pes());
      }
      co_await ix::move_point(*this);
      out[1].assign(length, step + 0.5);
      auto second = to[1].send(ix::buffer_view<const double>(out[1]), streams().pack);
      for (const int k : {1, 0}) {
        const ix::received<double> r = co_await from[k].borrow();
        errors += r.size() != length || r.data()[length - 1] != step + 0.5 * k;
      }
      co_await std::move(second);
      co_await barrier();  // so the other has received the first one, too
      half_way = false;
      ++step;
    }
    co_return errors;
  }
  using restartable = ix::entry_list<&crossed::run>;
  void has_moved(ix::pe_id) { ++moves; }
  int count() { return moves; }

  static constexpr std::size_t length = 2000;
  ix::channel<double> to[2], from[2];
  int step = 0, errors = 0, moves = 0;
  bool half_way = false;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & step & errors & moves & half_way;
  }
};

ix::task<int> cross(ix::runtime& rt) {
  const auto both = rt.create_array<crossed>(ix::index1d(2));
  auto runs = ix::when_all(both[0].call<&crossed::run>(), both[1].call<&crossed::run>());
  const auto [first, second] = co_await std::move(runs);
  EXPECT_EQ(first + second, 0);
  co_return 0;
}

TEST(channel_crossing, does_not_wait_for_those_that_wait_for_it) { run_over_all_shapes(cross); }

/// Receives nothing while it goes from PE to PE; then all, as it was sent.
struct collector : ix::chare<collector> {
  void open(const ix::element_proxy<struct source>& from);
  ix::task<int> run() {
    while (hops > 0) {
      --hops;
      migrate_to((pe() + 1) % num_pes());
      co_await ix::move_point(*this);
    }
    std::vector<int> in(9000);
    for (; received < 12; ++received) {
      const std::size_t n = co_await from.recv(ix::buffer_view<int>(in), streams().unpack);
      co_await streams().unpack.done();
      errors += n != static_cast<std::size_t>(1 + 700 * received) || in[n - 1] != received;
    }
    co_return errors;
  }
  using restartable = ix::entry_list<&collector::run>;

  ix::channel<int> from;
  int hops = 15, received = 0, errors = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & from & hops & received & errors;
  }
};
struct source : ix::chare<source> {
  ix::task<> run(ix::element_proxy<collector> to) {
    ix::channel<int> c(*this, to, 4, 9);
    std::vector<std::vector<int>> out;
    std::vector<ix::channel_send> sent;
    for (int k = 0; k < 12; ++k) {
      out.emplace_back(static_cast<std::size_t>(1 + 700 * k), k);
      sent.push_back(c.send(ix::buffer_view<const int>(out.back()), streams().pack));
      if (k % 3 == 0) co_await streams().pack.done();
    }
    for (const ix::channel_send& one : sent) co_await one;
  }
};
void collector::open(const ix::element_proxy<source>& there) { from = ix::channel<int>(*this, there, 9, 4); }

ix::task<int> collect(ix::runtime& rt) {
  const auto to = rt.create<collector>();
  const auto from = rt.create<source>();
  to.send<&collector::open>(from);
  co_await rt.quiescence();
  auto both = ix::when_all(to.call<&collector::run>(), from.call<&source::run>(to));
  const auto [errors, nothing] = co_await std::move(both);
  static_cast<void>(nothing);
  EXPECT_EQ(errors, 0);
  co_return 0;
}

TEST(channel_crossing, takes_along_what_has_come_to_single_chares) { run_over_all_shapes(collect); }

/// Goes about while the other end is closed, and sends when that is open again.
struct rover : ix::chare<rover, ix::index1d> {
  rover() { c = ix::channel<int>(*this, array()[1 - index().x], 5, 5); }
  void close() { c = ix::channel<int>(); }
  ix::task<> run() {
    while (hops > 0) {
      --hops;
      migrate_to((pe() + 1) % num_pes());
      co_await ix::move_point(*this);
    }
  }
  using restartable = ix::entry_list<&rover::run>;
  ix::task<> send(std::vector<int> values) {
    auto sent = c.send(ix::buffer_view<const int>(values), streams().pack);
    co_await std::move(sent);
  }
  ix::task<int> open_and_receive() {
    c = ix::channel<int>(*this, array()[1 - index().x], 5, 5);
    const ix::received<int> r = co_await c.borrow();
    co_return r.data()[r.size() - 1];
  }
  ix::channel<int> c;
  int hops = 20;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & hops;
  }
};

ix::task<int> rove(ix::runtime& rt) {
  const auto both = rt.create_array<rover>(ix::index1d(2));
  co_await rt.quiescence();
  auto closed = both[1].call<&rover::close>();
  co_await std::move(closed);
  auto gone = both[0].call<&rover::run>();
  co_await std::move(gone);
  auto all =
      ix::when_all(both[1].call<&rover::open_and_receive>(), both[0].call<&rover::send>(std::vector<int>(3000, 7)));
  const auto [last, nothing] = co_await std::move(all);
  static_cast<void>(nothing);
  EXPECT_EQ(last, 7);
  co_return 0;
}

TEST(channel_crossing, goes_on_while_the_other_end_is_closed) { run_over_all_shapes(rove); }

/// Opens its channel where nobody does it again.
struct forgetful : ix::chare<forgetful, ix::index1d> {
  void open() { c = ix::channel<int>(*this, array()[1 - index().x], 3, 3); }
  ix::task<> run() {
    if (!gone) migrate_to(num_pes() - 1 - pe());
    gone = true;
    co_await ix::move_point(*this);
    co_await c.borrow();
  }
  using restartable = ix::entry_list<&forgetful::run>;
  ix::channel<int> c;
  bool gone = false;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & gone;
  }
};

ix::task<int> forget(ix::runtime& rt) {
  const auto both = rt.create_array<forgetful>(ix::index1d(2));
  both.broadcast<&forgetful::open>();
  co_await rt.quiescence();
  try {
    auto asked = both[0].call<&forgetful::run>();
    co_await std::move(asked);
  } catch (const ix::usage_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("forgetful(0) has come from another process"));
    EXPECT_THAT(e.what(), testing::HasSubstr("a channel at port 3: name its channels in serialize"));
    co_return 0;
  }
  co_return 1;
}

TEST(channel_crossing, says_which_channel_nobody_opened_again) { EXPECT_EQ(run_job_with({1, 2}, forget), 0); }

/// Balanced over processes with channels open.
struct uneven_ring : ix::chare<uneven_ring, ix::index1d> {
  uneven_ring() {
    const int n = extent().x;
    to = ix::channel<int>(*this, array()[(index().x + 1) % n], 0, 1);
    from = ix::channel<int>(*this, array()[(index().x + n - 1) % n], 1, 0);
  }
  ix::task<> run() {
    ++calls;
    const int n = extent().x;
    while (step < 40) {
      const std::int64_t until = ix::now_ns() + (index() < n / 4 ? 800'000 : 50'000);
      while (ix::now_ns() < until) {
      }
      const int word = 100 * index().x + step;
      const auto sent = to.send(std::span<const int>(&word, 1), streams().pack);
      {
        const ix::received<int> r = co_await from.borrow();
        errors += *r.data() != 100 * ((index().x + n - 1) % n) + step;
      }
      co_await sent;
      ++step;
      if (step % 5 == 0) co_await ix::balance(*this);
    }
    contribute(std::vector<int>{calls, errors}, ix::sum);
  }
  using restartable = ix::entry_list<&uneven_ring::run>;
  ix::channel<int> to, from;
  int step = 0, calls = 0, errors = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & step & calls & errors;
  }
};

ix::task<int> balance_over_processes(ix::runtime& rt) {
  const auto all = rt.create_array<uneven_ring>(ix::index1d(16));
  all.broadcast<&uneven_ring::run>();
  const auto counts = co_await all.reduction<std::vector<int>>();
  EXPECT_GT(rt.balancing().num_moves, 0U);
  EXPECT_GT(counts[0], 16) << "none has crossed processes";
  EXPECT_EQ(counts[1], 0);
  co_return 0;
}

TEST(channel_crossing, lets_loads_be_balanced_over_processes) {
  for (const job_shape& s : {job_shape{1, 2}, {2, 2}, {1, 3}}) {
    SCOPED_TRACE(to_text(s));
    command_line line(s, {"--imbrex-balance=greedy", "--imbrex-balance-every-ms=0"});
    EXPECT_EQ(ix::run(line.count(), line.values(), balance_over_processes), 0);
  }
}

}  // namespace

}  // namespace channel_crossing_test
