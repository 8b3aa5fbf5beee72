#include "pattern.h"

#include <algorithm>
#include <cstring>

namespace pingpong {
namespace {

std::uint64_t word_at(std::uint64_t seed, std::uint64_t place) {
  std::uint64_t x = seed + place * 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93;
  return x ^ (x >> 32);
}

/// Calls `f(offset, bytes, word)` for every word of a message, the last perhaps shorter.
template <class F>
void for_each_word(std::size_t bytes, std::uint64_t round, int player, F f) {
  const std::uint64_t seed = (round * 2 + static_cast<std::uint64_t>(player) + 1) * 0xbf58476d1ce4e5b9;
  for (std::size_t at = 0; at < bytes; at += 8) f(at, std::min<std::size_t>(8, bytes - at), word_at(seed, at / 8));
}

}  // namespace

void fill_pattern(std::byte* to, std::size_t bytes, std::uint64_t round, int player) {
  for_each_word(bytes, round, player,
                [&](std::size_t at, std::size_t n, std::uint64_t word) { std::memcpy(to + at, &word, n); });
}

std::uint64_t count_wrong(const std::byte* data, std::size_t bytes, std::uint64_t round, int player) {
  std::uint64_t wrong = 0;
  for_each_word(bytes, round, player, [&](std::size_t at, std::size_t n, std::uint64_t word) {
    if (std::memcmp(data + at, &word, n) == 0) return;
    const auto* expected = reinterpret_cast<const std::byte*>(&word);
    for (std::size_t i = 0; i < n; ++i) wrong += data[at + i] != expected[i] ? 1 : 0;
  });
  return wrong;
}

}  // namespace pingpong
