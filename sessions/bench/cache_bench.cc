// The allocation cache with 100,000 live allocations: memory, and the time of a look-up at random addresses.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <vector>

#include "driver/allocation_cache.h"

namespace {

using imbrex::sessions::allocation;
using imbrex::sessions::allocation_cache;

constexpr std::uint64_t base = 0x7f0000000000;
constexpr std::uint64_t num_allocations = 100000;

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<std::uint64_t> random_addresses(std::uint64_t first, std::uint64_t bytes) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> addresses(1 << 16);
  for (std::uint64_t& a : addresses) a = first + random() % bytes;
  return addresses;
}

/// Median over passes, of the addresses in turn; independent look-ups, as those of messages are.
template <class LookUp>
double look_up_ns(const std::vector<std::uint64_t>& addresses, LookUp look_up) {
  std::vector<double> passes;
  std::uint64_t sum = 0;
  for (int pass = 0; pass < 51; ++pass) {
    const double begin = now_ns();
    for (const std::uint64_t a : addresses) sum += look_up(a);
    passes.push_back((now_ns() - begin) / static_cast<double>(addresses.size()));
  }
  std::sort(passes.begin(), passes.end());
  if (sum == 1) std::printf(" ");  // keeps the look-ups
  return passes[passes.size() / 2];
}

void measure(allocation_cache& cache, std::uint64_t bytes) {
  const double begin = now_ns();
  for (std::uint64_t i = 0; i < num_allocations; ++i) {
    allocation a;
    a.start = base + i * bytes;
    a.end = a.start + bytes;
    a.memory_type = 2;
    cache.insert(a);
  }
  const double insert_ns = (now_ns() - begin) / static_cast<double>(num_allocations);
  const auto type_of = [&](std::uint64_t a) {
    int type = 0;
    cache.find_memory_type(a, type);
    return static_cast<std::uint64_t>(type);
  };
  const auto all_of = [&](std::uint64_t a) {
    allocation found;
    cache.find(a, found);
    return found.buffer_id + found.memory_type;
  };
  const auto inside = random_addresses(base, num_allocations * bytes);
  const auto outside = random_addresses(0x550000000000, 1ull << 30);
  const std::vector<std::uint64_t> one(1 << 16, base + 12345);
  std::printf(
      "%8llu B each: %5.2f MB, insert %6.0f ns; look-up: memory type %5.1f ns, all attributes %5.1f ns, "
      "host memory %4.1f ns, one buffer again and again %4.1f ns\n",
      static_cast<unsigned long long>(bytes), static_cast<double>(cache.bytes()) / 1e6, insert_ns,
      look_up_ns(inside, type_of), look_up_ns(inside, all_of), look_up_ns(outside, type_of), look_up_ns(one, type_of));
}

}  // namespace

int main() {
  static allocation_cache caches[4];
  int i = 0;
  for (const std::uint64_t bytes : {512ull, 4096ull, 65536ull, 2ull << 20}) measure(caches[i++], bytes);
}
