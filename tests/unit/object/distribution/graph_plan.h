#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <random>
#include <span>
#include <vector>

/// Tasks at random, the same on every rank, and what they give one after the other.
namespace imbrex_test {

using numbers = std::vector<std::uint64_t>;
using in = std::span<const std::uint64_t>;
using out = std::span<std::uint64_t>;

// What tasks do. The places of elements matter, so that a byte that is not there is seen.
inline void set(out x, std::uint64_t c) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = c + i;
}
inline void stir(out x, std::uint64_t c) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] * 3 + c + i;
}
inline void add(in a, out x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] * 5 + a[i % a.size()];
}
inline void add_both(in a, in b, out x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] * 7 + a[i % a.size()] - b[i % b.size()];
}
inline void cross(out x, out y) {
  const std::uint64_t x0 = x[0];
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = x[i] + y[i % y.size()] * 11;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] ^= x0 + i;
}
inline void from(in a, out x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = a[i % a.size()] + 13;
}
/// In whatever order others do it.
inline void plus(in a, out x, std::uint64_t c) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += (a[i % a.size()] ^ c) * (i + 1);
}

/// Which tasks, the same on every rank.
struct plan {
  std::uint64_t seed = 0;
  int num_objects = 12;
  int num_tasks = 300;
  int throttle = 1'000'000;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & seed & num_objects & num_tasks & throttle;
  }
};
inline std::size_t size_of(const plan& p, int i) {
  constexpr std::size_t sizes[] = {1, 3, 100, 700, 5000};  // a few bytes, what is packed, what is lent
  return sizes[(p.seed + static_cast<std::uint64_t>(i) * 7) % 5];
}

/// One task: its kind, its objects, and where it runs.
struct step {
  int kind = 0, a = 0, b = 0, c = 0;
  std::uint64_t value = 0;
  imbrex::rank_id rank = -1;
};
inline std::vector<step> steps_of(const plan& p, int num_ranks) {
  std::mt19937_64 random(p.seed);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<std::uint64_t>(n)); };
  std::vector<step> steps;
  for (int i = 0; i < p.num_objects; ++i) steps.push_back({.kind = 0, .c = i, .value = random()});
  for (int t = 0; t < p.num_tasks; ++t) {
    step s{.kind = below(11), .value = random()};
    s.a = below(p.num_objects);
    do s.b = below(p.num_objects);
    while (s.b == s.a);
    do s.c = below(p.num_objects);
    while (s.c == s.a || s.c == s.b);
    const bool elsewhere = below(4) == 0;
    if (elsewhere) s.rank = below(1000) % num_ranks;
    steps.push_back(s);
  }
  return steps;
}

inline std::vector<numbers> one_after_the_other(const plan& p, int num_ranks) {
  std::vector<numbers> x;
  for (int i = 0; i < p.num_objects; ++i) x.emplace_back(size_of(p, i));
  const auto at = [&](int i) -> numbers& { return x[static_cast<std::size_t>(i)]; };
  for (const step& s : steps_of(p, num_ranks)) {
    switch (s.kind) {
      case 0: set(at(s.c), s.value); break;
      case 1: stir(at(s.c), s.value); break;
      case 2: add(at(s.a), at(s.c)); break;
      case 3: add_both(at(s.a), at(s.b), at(s.c)); break;
      case 4: cross(at(s.b), at(s.c)); break;
      case 5: from(at(s.a), at(s.c)); break;
      case 10: break;  // it changes its owner
      default: plus(at(s.a), at(s.c), s.value);
    }
  }
  return x;
}

/// Owners without any order.
struct anyhow {
  std::uint64_t seed;
  int operator()(const imbrex::index1d& i, int num_ranks) const {
    return static_cast<int>((static_cast<std::uint64_t>(i.x) * 2654435761U + seed) / 7 %
                            static_cast<unsigned>(num_ranks));
  }
};

}  // namespace imbrex_test
