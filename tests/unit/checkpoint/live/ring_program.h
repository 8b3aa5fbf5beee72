#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <vector>

#include "imbrex/base/hash.h"
#include "unit/checkpoint/live/job_with_checkpoints.h"

namespace imbrex_test {

/// A ring of cells whose values depend on each other in every step.
struct cell : imbrex::chare<cell, imbrex::index1d> {
  cell() : value(imbrex::mix(static_cast<std::uint64_t>(index().x))) {}

  imbrex::task<> run(int until, int dies_at) {
    const int n = extent().x;
    while (step < until) {
      array()[(index().x + 1) % n].send<&cell::arrived>(step, value);
      auto [left] = co_await arrived(step);
      value = imbrex::mix(value ^ (left + static_cast<std::uint64_t>(step)));
      ++step;
      if (step == dies_at && index().x == n / 2) {
        for (int k = 0; !may_die(); ++k) {
          proxy().send<&cell::again>(k);
          co_await again(k);
        }
        rt().exit(9);
      }
      if (step % 3 == 0) co_await imbrex::checkpoint_point(*this);
      if (step % 4 == index().x % 4) migrate_to((pe() + 1) % num_pes());
    }
    contribute(value, imbrex::bit_xor);
  }

  imbrex::when<int, std::uint64_t> arrived;
  imbrex::when<int> again;
  std::uint64_t value = 0;
  int step = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & value & step & arrived;
  }
};

inline constexpr int steps = 20;

inline std::uint64_t expected_of_ring(int n, int num_steps = steps) {
  std::vector<std::uint64_t> now(static_cast<std::size_t>(n)), next(now);
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = imbrex::mix(i);
  for (int k = 0; k < num_steps; ++k) {
    for (std::size_t i = 0; i < now.size(); ++i)
      next[i] = imbrex::mix(now[i] ^ (now[(i + now.size() - 1) % now.size()] + static_cast<std::uint64_t>(k)));
    now.swap(next);
  }
  std::uint64_t all = 0;
  for (const std::uint64_t v : now) all ^= v;
  return all;
}

struct ring {
  ring() = default;
  ring(int num_cells, int step, int num_steps = steps) : n(num_cells), dies_at(step), until(num_steps) {}
  int n = 0, dies_at = 0, until = 0;
  imbrex::array_proxy<cell> cells;

  imbrex::task<int> start(imbrex::runtime& rt) {
    cells = rt.create_array<cell>(imbrex::index1d(n));
    auto rest = finish(rt);
    co_return co_await rest;
  }
  imbrex::task<int> restart(imbrex::runtime& rt) {
    dies_at = 0;
    auto rest = finish(rt);
    co_return co_await rest;
  }
  imbrex::task<int> finish(imbrex::runtime&) {
    cells.broadcast<&cell::run>(until, dies_at);
    auto result = cells.reduction<std::uint64_t>();
    co_return co_await result == expected_of_ring(n, until) ? 0 : 1;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & n & dies_at & until & cells;
  }
};

}  // namespace imbrex_test
