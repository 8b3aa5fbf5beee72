#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/base/hash.h"
#include "unit/object/job.h"

namespace move_point_test {

// Chares whose coroutines are ended on one side and called again on the other, as they cross processes.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;

constexpr int steps = 30;

/// Sends to its neighbour in each step, and wishes to be elsewhere after some.
struct hopper : ix::chare<hopper, ix::index1d> {
  ix::when<int, std::uint64_t> token;
  std::uint64_t value = 0;
  int step = 0, calls = 0, moves = 0;

  ix::task<std::uint64_t> run() {
    ++calls;
    const int n = extent();
    if (step == 0) value = ix::mix(static_cast<std::uint64_t>(index().x));
    while (step < steps) {
      array()[(index() + 1) % n].send<&hopper::token>(step, value);
      const auto [left] = co_await token(step);
      value = ix::mix(value ^ (left + static_cast<std::uint64_t>(step)));
      ++step;
      if ((step + index()) % 4 == 0) migrate_to((pe() + 1 + step % 2) % num_pes());
      co_await ix::move_point(*this);
    }
    co_return value;
  }
  using restartable = ix::entry_list<&hopper::run>;
  void has_moved(ix::pe_id) { ++moves; }
  std::vector<int> counts() { return {calls, moves}; }
  void look() { value ^= 0; }  // a message that may come at any time

  template <class Archive>
  void serialize(Archive& ar) {
    ar & token & value & step & calls & moves;
  }
};

std::uint64_t expected(int n) {
  std::vector<std::uint64_t> now(static_cast<std::size_t>(n)), next(now);
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = ix::mix(i);
  for (int k = 0; k < steps; ++k) {
    for (std::size_t i = 0; i < now.size(); ++i)
      next[i] = ix::mix(now[i] ^ (now[(i + now.size() - 1) % now.size()] + static_cast<std::uint64_t>(k)));
    now.swap(next);
  }
  std::uint64_t all = 0;
  for (const std::uint64_t v : now) all += v;
  return all;
}

/// Each element is called once and answers once, however often its coroutine was called.
ix::task<int> hop(ix::runtime& rt, int n) {
  const auto all = rt.create_array<hopper>(ix::index1d(n));
  using call = decltype(all[0].call<&hopper::run>());
  std::vector<call> calls;
  calls.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) calls.push_back(all[i].call<&hopper::run>());
  for (int k = 0; k < 20; ++k) all.broadcast<&hopper::look>();
  auto answers = ix::when_all(std::move(calls));
  std::uint64_t sum = 0;
  for (const std::uint64_t v : co_await std::move(answers)) sum += v;
  EXPECT_EQ(sum, expected(n));
  int num_calls = 0, num_moves = 0;
  for (int i = 0; i < n; ++i) {
    auto counted = all[i].call<&hopper::counts>();
    const std::vector<int> c = co_await std::move(counted);
    num_calls += c[0];
    num_moves += c[1];
  }
  if (rt.num_pes() > 1) {
    EXPECT_GT(num_moves, n);
  }
  EXPECT_GE(num_calls, n);
  if (rt.num_ranks() > 1) {
    EXPECT_GT(num_calls, n) << "no coroutine was called again";
  } else {
    EXPECT_EQ(num_calls, n);
  }
  co_return 0;
}

TEST(move_point, is_where_coroutines_are_called_again_in_another_process) { run_over_all_shapes(hop, 11); }

/// Stands at a move point when it is pinned, or told to stay.
struct undecided : ix::chare<undecided, ix::index1d> {
  ix::task<int> run() {
    for (int k = 0; k < 200; ++k) {
      migrate_to((pe() + 1) % num_pes());
      if (k % 3 == 0) migrate_to(pe());
      co_await ix::move_point(*this);
      if (++passed == 50) pin();
      if (passed == 60) break;
      if (is_pinned() || passed > 50) continue;
    }
    co_return passed;
  }
  using restartable = ix::entry_list<&undecided::run>;
  int passed = 0;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & passed;
  }
};

ix::task<int> decide(ix::runtime& rt) {
  const auto all = rt.create_array<undecided>(ix::index1d(3));
  for (int i = 0; i < 3; ++i) {
    auto passed = all[i].call<&undecided::run>();
    EXPECT_GE(co_await std::move(passed), 50);
  }
  co_return 0;
}

TEST(move_point, is_passed_when_the_wish_is_gone) {
  for (const job_shape& s : {job_shape{1, 1}, {1, 3}, {2, 2}}) {
    SCOPED_TRACE(to_text(s));
    const job_outcome o = run_and_listen(s, decide);  // pinned, it may not ask to move
    EXPECT_TRUE(o.code == 0 || o.errors.find("is pinned") != std::string::npos) << o.errors;
  }
}

/// A quarter of the elements works, the others wait for them; balanced over processes.
struct uneven : ix::chare<uneven, ix::index1d> {
  int step = 0, calls = 0;
  ix::task<> run() {
    ++calls;
    while (step < 40) {
      const std::int64_t until = ix::now_ns() + (index() < extent() / 4 ? 800'000 : 50'000);
      while (ix::now_ns() < until) {
      }
      ++step;
      if (step % 5 == 0) co_await ix::balance(*this);
    }
    contribute(calls, ix::sum);
  }
  using restartable = ix::entry_list<&uneven::run>;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & step & calls;
  }
};

ix::task<int> balance_over_processes(ix::runtime& rt) {
  const auto all = rt.create_array<uneven>(ix::index1d(16));
  all.broadcast<&uneven::run>();
  const int calls = co_await all.reduction<int>();
  EXPECT_GT(rt.balancing().num_moves, 0U);
  EXPECT_GT(calls, 16) << "none has crossed processes";
  co_return 0;
}

TEST(move_point, is_balance_for_restartable_coroutines) {
  for (const job_shape& s : {job_shape{1, 2}, {2, 2}, {1, 3}}) {
    SCOPED_TRACE(to_text(s));
    command_line line(s, {"--imbrex-balance=greedy", "--imbrex-balance-every-ms=0"});
    EXPECT_EQ(ix::run(line.count(), line.values(), balance_over_processes), 0);
  }
}

}  // namespace

}  // namespace move_point_test
