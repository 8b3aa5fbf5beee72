#include "driver/allocation_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>
#include <tuple>

#include "imbrex/base/memory/sanitizer.h"

namespace imbrex::sessions {

namespace allocation_cache_test {

namespace {

using answer = allocation_cache::answer;

allocation make(std::uint64_t start, std::uint64_t bytes, std::uint64_t id = 1) {
  allocation a;
  a.start = start;
  a.end = start + bytes;
  a.buffer_id = id;
  a.context = id + 7;
  a.memory_type = 2;
  return a;
}

/// The same as the cache, slowly.
class model {
 public:
  void insert(const allocation& a) {
    for (auto i = all_.begin(); i != all_.end();) {
      i = i->second.start < a.end && a.start < i->second.end ? all_.erase(i) : std::next(i);
    }
    all_[a.start] = a;
  }
  bool erase(std::uint64_t start) { return all_.erase(start) == 1; }
  const allocation* find(std::uint64_t address) const {
    auto after = all_.upper_bound(address);
    if (after == all_.begin()) return nullptr;
    --after;
    return address < after->second.end ? &after->second : nullptr;
  }
  const std::map<std::uint64_t, allocation>& all() const { return all_; }

 private:
  std::map<std::uint64_t, allocation> all_;
};

void expect_same(const allocation_cache& cache, const model& expected, std::uint64_t address) {
  allocation found;
  int type = 9;
  const allocation* there = expected.find(address);
  ASSERT_EQ(cache.find(address, found), there == nullptr ? answer::unknown_address : answer::found)
      << std::hex << address;
  ASSERT_EQ(cache.find_memory_type(address, type), there == nullptr ? answer::unknown_address : answer::found);
  ASSERT_EQ(type, there == nullptr ? 0 : 2);
  if (there != nullptr) {
    ASSERT_EQ(found.start, there->start);
    ASSERT_EQ(found.buffer_id, there->buffer_id);
  }
}

TEST(AllocationCache, EdgesOfOneAllocation) {
  static allocation_cache cache;
  allocation found;
  EXPECT_EQ(cache.find(0x1000, found), answer::unknown_address);
  for (const std::uint64_t bytes : {1ul, 512ul, 1ul << 21, (1ul << 21) + 1, 5ul << 21, 3ul << 30}) {
    const std::uint64_t start = 0x7f0000001000;
    ASSERT_TRUE(cache.insert(make(start, bytes)));
    EXPECT_EQ(cache.find(start - 1, found), answer::unknown_address);
    EXPECT_EQ(cache.find(start, found), answer::found);
    EXPECT_EQ(cache.find(start + bytes / 2, found), answer::found);
    EXPECT_EQ(cache.find(start + bytes - 1, found), answer::found);
    EXPECT_EQ(cache.find(start + bytes, found), answer::unknown_address);
    EXPECT_FALSE(cache.erase(start + 1));
    EXPECT_TRUE(cache.erase(start));
    EXPECT_EQ(cache.find(start, found), answer::unknown_address);
  }
  EXPECT_EQ(cache.size(), 0u);
}

TEST(AllocationCache, GivesAllThatItWasTold) {
  allocation_cache cache;
  allocation told = make(0x5000, 100, 3);
  told.ordinal = 5;
  told.is_managed = 1;
  told.copies_are_synchronous = 1;
  ASSERT_TRUE(cache.insert(told));
  allocation found;
  ASSERT_EQ(cache.find(0x5010, found), answer::found);
  const auto all = [](const allocation& a) {
    return std::tuple(a.start, a.end, a.context, a.buffer_id, a.ordinal, a.memory_type, a.is_managed,
                      a.copies_are_synchronous);
  };
  EXPECT_EQ(all(found), all(told));
}

TEST(AllocationCache, SameAsASlowOne) {
  static allocation_cache cache;
  model expected;
  std::mt19937_64 random(7);
  const std::uint64_t base = 0x7f1234000000;
  for (int step = 0; step < 20000; ++step) {
    const std::uint64_t start = base + random() % (64ul << 20) / 256 * 256;
    const std::uint64_t bytes = random() % 8 == 0 ? random() % (8ul << 20) + 1 : random() % 4096 + 1;
    if (random() % 3 != 0) {
      const allocation a = make(start, bytes, static_cast<std::uint64_t>(step));
      ASSERT_TRUE(cache.insert(a));
      expected.insert(a);
    } else if (!expected.all().empty()) {
      auto some = expected.all().lower_bound(start);
      if (some == expected.all().end()) some = expected.all().begin();
      const std::uint64_t erased = some->first;
      ASSERT_TRUE(expected.erase(erased));
      ASSERT_TRUE(cache.erase(erased));
    }
    for (int i = 0; i < 5; ++i) expect_same(cache, expected, base + random() % (72ul << 20));
  }
  ASSERT_EQ(cache.size(), expected.all().size());
  for (const auto& [start, a] : expected.all()) {
    expect_same(cache, expected, start - 1);
    expect_same(cache, expected, start);
    expect_same(cache, expected, a.end - 1);
    expect_same(cache, expected, a.end);
  }
  cache.clear();
  allocation found;
  EXPECT_EQ(cache.find(expected.all().begin()->first, found), answer::unknown_address);
}

TEST(AllocationCache, UnmappedRangesAreForgotten) {
  static allocation_cache cache;
  for (std::uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(cache.insert(make(0x10000000 + i * 65536, 65536, i)));
  cache.erase_overlapping(0x10000000 + 10 * 65536, 0x10000000 + 20 * 65536);
  EXPECT_EQ(cache.size(), 90u);
}

TEST(AllocationCache, HundredThousandFitIntoTenMegabytes) {
  for (const std::uint64_t bytes : {4096ul, 512ul, 65536ul, 2ul << 20}) {
    static allocation_cache caches[4];
    static int next = 0;
    allocation_cache& cache = caches[next++];
    for (std::uint64_t i = 0; i < 100000; ++i) ASSERT_TRUE(cache.insert(make(0x7f0000000000 + i * bytes, bytes, i)));
    EXPECT_EQ(cache.size(), 100000u);
    EXPECT_LE(cache.bytes(), 10u << 20) << bytes << " B each";
    if (imbrex::any_sanitizer) break;  // the others take it minutes
  }
}

TEST(AllocationCache, LookUpsBesideChangesSeeOneOrTheOther) {
  static allocation_cache cache;
  static std::atomic<bool> done{false};
  const std::uint64_t kept = 0x500000000000;
  ASSERT_TRUE(cache.insert(make(kept + 4096, 4096, 42)));
  std::thread changes([&] {
    std::mt19937_64 random(3);
    for (int i = 0; i < 30000; ++i) {
      const std::uint64_t start = kept + 8192 + random() % 400 * 4096;
      if (i % 2 == 0) {
        ASSERT_TRUE(cache.insert(make(start, 4096, start)));
      } else {
        cache.erase(start);
      }
    }
    done = true;
  });
  std::mt19937_64 random(5);
  while (!done) {
    allocation found;
    const answer known = cache.find(kept + 5000, found);
    if (known != answer::unsure) {
      ASSERT_EQ(known, answer::found);
      ASSERT_EQ(found.buffer_id, 42u);
    }
    const std::uint64_t other = kept + 8192 + random() % 400 * 4096 + 17;
    if (cache.find(other, found) == answer::found) {
      ASSERT_EQ(found.buffer_id, other - 17);
    }
  }
  changes.join();
}

}  // namespace
}  // namespace allocation_cache_test

}  // namespace imbrex::sessions
