// Chares that go from process to process with open channels, in whichever way their messages go.
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <cstdint>
#include <utility>

#include "unit/object/moving/moving_ring.h"
#include "unit/object/moving/tournament.h"

namespace {

namespace ix = imbrex;
using namespace imbrex_test;

template <opening H>
ix::task<bool> went_right(ix::runtime* rt, int n, std::uint64_t seed) {
  const auto ring = rt->create_array<moving_ring<H>>(ix::index1d(n));
  auto gone_round = go_round(ring, n, 200, seed, 2);
  const ring_counts c = co_await std::move(gone_round);
  fmt::print("{} chares: {} errors, {} moves, {} of them to other processes\n", n, c.errors, c.moves, c.crossings);
  co_return c.errors == 0 && c.crossings > n;
}

/// At one port, with one chare after another.
ix::task<bool> went_well(ix::runtime* rt, bool one_partner, std::uint64_t seed) {
  const int n = 6;
  auto played = play_all(rt->create_array<player>(ix::index1d(n)), n, 100, seed, one_partner);
  const tournament_counts c = co_await std::move(played);
  fmt::print("{} players: {} errors, {} moves to other processes\n", n, c.errors, c.crossings);
  co_return c.errors == 0 && c.crossings > n;
}

ix::task<int> start(ix::runtime& rt) {
  auto first = went_right<opening::by_constructor>(&rt, 5, 1);
  auto second = went_right<opening::by_serialize>(&rt, 6, 2);
  auto third = went_right<opening::by_coroutine>(&rt, 2, 3);
  auto fourth = went_well(&rt, false, 4);
  auto fifth = went_well(&rt, true, 5);
  auto all = ix::when_all(std::move(first), std::move(second), std::move(third), std::move(fourth), std::move(fifth));
  const auto [a, b, c, d, e] = co_await std::move(all);
  co_return a&& b&& c&& d&& e ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
