#include "imbrex/device/pool/slab_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "imbrex/base/error.h"

namespace slab_pool_test {

using namespace imbrex;

namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

std::uintptr_t address_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

/// Addresses with nothing behind them, side by side and never used again. Any thread, as a pool asks of its source.
struct fake_source : memory_source {
  explicit fake_source(std::size_t capacity) : left(capacity) {}
  ~fake_source() override { EXPECT_TRUE(given_out.empty()) << "slabs were not given back"; }

  void* get(std::size_t bytes) override {
    const std::lock_guard lock(mutex);
    asked.push_back(bytes);
    if (bytes > left || bytes > largest) return nullptr;
    left -= bytes;
    given_out[next] = bytes;
    void* memory = reinterpret_cast<void*>(next);
    next += bytes;
    return memory;
  }
  void give(void* memory, std::size_t bytes) override {
    const std::lock_guard lock(mutex);
    auto at = given_out.find(address_of(memory));
    if (at == given_out.end() || at->second != bytes) {
      ADD_FAILURE() << "given back what was not got";
      return;
    }
    given_out.erase(at);
    left += bytes;
  }
  std::uint64_t free_bytes() override {
    const std::lock_guard lock(mutex);
    return left;
  }
  std::string name() override { return "GPU 0 (fake)"; }

  std::mutex mutex;
  std::size_t left;
  std::size_t largest = ~std::size_t{0};  ///< of one piece
  std::uintptr_t next = std::uintptr_t{1} << 40;
  std::map<std::uintptr_t, std::size_t> given_out;
  std::vector<std::size_t> asked;
};

/// What must be in use, kept in another way: disjoint intervals.
struct reference {
  std::map<std::uintptr_t, std::size_t> taken;

  void add(void* memory, std::size_t bytes) {
    const auto begin = address_of(memory);
    const auto after = taken.lower_bound(begin);
    ASSERT_TRUE(after == taken.end() || begin + bytes <= after->first) << "overlaps what follows";
    if (after != taken.begin()) {
      const auto before = std::prev(after);
      ASSERT_LE(before->first + before->second, begin) << "overlaps what precedes";
    }
    taken[begin] = bytes;
  }
};

std::string failure(slab_pool& pool, std::size_t bytes, const char* holder) {
  try {
    pool.allocate(bytes, holder);
  } catch (const out_of_memory& e) {
    return e.what();
  }
  return "";
}

void expect_contains(const std::string& text, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

TEST(slab_pool, tells_of_its_slabs) {
  fake_source source(1 << 20);
  std::map<void*, std::size_t> known;
  {
    slab_pool pool(source, 4096, 64);
    void* const before = pool.allocate(100, "a");
    pool.watch([&](void* base, std::size_t bytes, bool comes) {
      if (comes) {
        EXPECT_TRUE(known.emplace(base, bytes).second);
      } else {
        EXPECT_EQ(known.erase(base), 1u);
      }
    });
    EXPECT_EQ(known.size(), 1u);
    void* const after = pool.allocate(4000, "a");
    EXPECT_EQ(known.size(), 2u);
    EXPECT_TRUE(known.contains(pool.slab_of(after).base));
    pool.free(after);
    pool.trim();
    EXPECT_EQ(known.size(), 1u);
    pool.free(before);
  }
  EXPECT_TRUE(known.empty());
}

TEST(slab_pool, aligns_and_counts_in_units_of_the_alignment) {
  fake_source source(1024 * MiB);
  slab_pool pool(source);
  std::vector<void*> all;
  for (std::size_t bytes : {1U, 511U, 512U, 513U, 100'000U}) all.push_back(pool.allocate(bytes, "test"));
  for (void* m : all) EXPECT_EQ(address_of(m) % slab_pool::default_alignment, 0U);
  EXPECT_EQ(pool.used().in_use, 512U * 3 + 1024 + 100'352);
  EXPECT_EQ(source.asked, std::vector<std::size_t>{slab_pool::default_slab_bytes});
  for (void* m : all) pool.free(m);
  EXPECT_EQ(pool.used().in_use, 0U);
}

TEST(slab_pool, zero_bytes_are_distinct) {
  fake_source source(64 * MiB);
  slab_pool pool(source, MiB);
  void* a = pool.allocate(0, "test");
  void* b = pool.allocate(0, "test");
  EXPECT_NE(a, nullptr);
  EXPECT_NE(a, b);
  pool.free(a);
  pool.free(b);
  pool.free(nullptr);
}

TEST(slab_pool, refuses_sizes_that_cannot_work) {
  fake_source source(64 * MiB);
  EXPECT_THROW(slab_pool(source, MiB, 0), usage_error);
  EXPECT_THROW(slab_pool(source, MiB, 48), usage_error);
  EXPECT_THROW(slab_pool(source, 0), usage_error);
  EXPECT_THROW(slab_pool(source, ~std::size_t{0}), usage_error);
}

TEST(slab_pool, takes_the_range_that_fits_best) {
  fake_source source(64 * MiB);
  slab_pool pool(source, MiB);
  void* large = pool.allocate(8192, "test");
  void* wall = pool.allocate(512, "test");
  void* small = pool.allocate(2048, "test");
  void* end = pool.allocate(512, "test");
  pool.free(large);
  pool.free(small);
  EXPECT_EQ(pool.allocate(1536, "test"), small);
  EXPECT_EQ(pool.allocate(4096, "test"), large);
  EXPECT_EQ(address_of(pool.allocate(4096, "test")), address_of(large) + 4096);
  EXPECT_LT(wall, end);
}

TEST(slab_pool, random_work_never_overlaps_and_never_leaves_its_slab) {
  fake_source source(256 * MiB);
  slab_pool pool(source, 4 * MiB, 256);
  reference expected;
  std::vector<std::pair<void*, std::size_t>> live;
  std::mt19937 random(7);
  std::uint64_t in_use = 0;
  std::uint64_t high_water = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (live.empty() || (live.size() < 600 && random() % 2 == 0)) {
      const std::size_t limit = std::size_t{1} << (4 + random() % 20);
      const std::size_t bytes = random() % limit;
      void* m = nullptr;
      try {
        m = pool.allocate(bytes, "test");
      } catch (const out_of_memory&) {
        continue;
      }
      const std::size_t taken = (std::max<std::size_t>(bytes, 1) + 255) / 256 * 256;
      ASSERT_NO_FATAL_FAILURE(expected.add(m, taken));
      ASSERT_EQ(address_of(m) % 256, 0U);
      const auto slab = pool.slab_of(m);
      ASSERT_TRUE(slab);
      ASSERT_LE(address_of(slab.base), address_of(m));
      ASSERT_LE(address_of(m) + taken, address_of(slab.base) + slab.bytes);
      in_use += taken;
      live.emplace_back(m, taken);
    } else {
      std::swap(live[random() % live.size()], live.back());
      auto [m, taken] = live.back();
      live.pop_back();
      expected.taken.erase(address_of(m));
      in_use -= taken;
      pool.free(m);
    }
    high_water = std::max(high_water, in_use);
    ASSERT_EQ(pool.used().in_use, in_use);
  }
  EXPECT_EQ(pool.used().high_water, high_water);
  EXPECT_GT(pool.used().slabs, 2U);
  for (auto& [m, taken] : live) pool.free(m);
  pool.trim();
  EXPECT_EQ(pool.used().from_source, 0U) << "all ranges have joined";
}

TEST(slab_pool, freed_in_any_order_a_slab_is_whole_again) {
  fake_source source(64 * MiB);
  slab_pool pool(source, 4 * MiB);
  std::mt19937 random(3);
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> all;
    for (std::size_t left = 4 * MiB; left > 0; left -= 4096) all.push_back(pool.allocate(4096, "part"));
    std::ranges::shuffle(all, random);
    for (void* m : all) pool.free(m);
    void* whole = pool.allocate(4 * MiB, "whole");
    EXPECT_EQ(pool.used().source_calls, 1U);
    pool.free(whole);
  }
}

TEST(slab_pool, ranges_of_slabs_side_by_side_do_not_join) {
  fake_source source(64 * MiB);
  slab_pool pool(source, 2 * MiB);
  void* a = pool.allocate(2 * MiB, "test");
  void* b = pool.allocate(2 * MiB, "test");
  ASSERT_EQ(address_of(b), address_of(a) + 2 * MiB);
  pool.free(a);
  pool.free(b);
  pool.allocate(4 * MiB, "test");
  EXPECT_EQ(source.asked, (std::vector<std::size_t>{2 * MiB, 2 * MiB, 4 * MiB}));
}

TEST(slab_pool, in_steady_state_the_source_is_not_asked) {
  fake_source source(64 * MiB);
  slab_pool pool(source, 4 * MiB);
  const auto iteration = [&] {
    std::vector<void*> all;
    for (std::size_t i = 0; i < 300; ++i) all.push_back(pool.allocate(i * 100, "buffer"));
    all.push_back(pool.allocate(7 * MiB, "large"));
    for (std::size_t i = 0; i < all.size(); ++i) pool.free(all[i * 11 % all.size()]);
  };
  iteration();
  const auto before = pool.used();
  for (int i = 0; i < 10; ++i) iteration();
  const auto after = pool.used();
  EXPECT_EQ(after.source_calls, before.source_calls);
  EXPECT_EQ(after.from_source, before.from_source);
  EXPECT_EQ(after.high_water, before.high_water);
  EXPECT_EQ(after.allocations, 11 * before.allocations);
}

TEST(slab_pool, more_than_a_slab_gets_its_own) {
  fake_source source(64 * MiB);
  slab_pool pool(source, 4 * MiB);
  void* large = pool.allocate(9 * MiB + 1, "grid");
  EXPECT_EQ(source.asked, std::vector<std::size_t>{10 * MiB});
  EXPECT_EQ(pool.slab_of(large).bytes, 10 * MiB);
  void* rest = pool.allocate(MiB / 2, "in what is left of it");
  EXPECT_EQ(source.asked.size(), 1U);
  EXPECT_EQ(pool.slab_of(rest).base, large);
  pool.free(large);
  pool.free(rest);
  EXPECT_EQ(pool.used().from_source, 10 * MiB) << "kept";
  EXPECT_EQ(pool.trim(), 10 * MiB);
  EXPECT_EQ(source.free_bytes(), 64 * MiB);
}

TEST(slab_pool, finds_the_slab_of_an_address) {
  fake_source source(64 * MiB);
  slab_pool pool(source, 2 * MiB);
  EXPECT_FALSE(pool.slab_of(&pool));
  const auto base = address_of(pool.allocate(512, "test"));
  for (std::size_t offset : {std::size_t{0}, std::size_t{5000}, 2 * MiB - 1}) {
    const auto slab = pool.slab_of(reinterpret_cast<void*>(base + offset));
    EXPECT_EQ(address_of(slab.base), base);
    EXPECT_EQ(slab.bytes, 2 * MiB);
  }
  EXPECT_FALSE(pool.slab_of(reinterpret_cast<void*>(base + 2 * MiB)));
  EXPECT_FALSE(pool.slab_of(reinterpret_cast<void*>(base - 1)));
  EXPECT_FALSE(pool.slab_of(nullptr));
}

TEST(slab_pool, gives_free_slabs_back_under_pressure) {
  fake_source source(16 * MiB);
  slab_pool pool(source, 4 * MiB);
  std::vector<void*> all;
  for (int i = 0; i < 4; ++i) all.push_back(pool.allocate(4 * MiB, "test"));
  for (void* m : all) pool.free(m);
  EXPECT_EQ(pool.used().slabs, 4U);
  pool.free(pool.allocate(14 * MiB, "large"));
  EXPECT_EQ(pool.used().slabs, 1U);
  EXPECT_EQ(pool.used().from_source, 14 * MiB);
  EXPECT_EQ(pool.used().source_calls, 4U + 1 + 4 + 1);
}

TEST(slab_pool, takes_a_smaller_slab_where_a_full_one_is_not_to_be_had) {
  fake_source source(19 * MiB);
  slab_pool pool(source, 16 * MiB);
  void* first = pool.allocate(16 * MiB, "test");
  void* second = pool.allocate(MiB, "test");
  EXPECT_EQ(source.asked, (std::vector<std::size_t>{16 * MiB, 16 * MiB, 2 * MiB}));
  EXPECT_EQ(pool.slab_of(second).bytes, 2 * MiB);
  pool.free(first);
  pool.free(second);
}

TEST(slab_pool, out_of_memory_says_what_where_who_and_what_to_do) {
  fake_source source(100 * MiB);
  slab_pool pool(source, 10 * MiB);
  for (int i = 0; i < 3; ++i) pool.allocate(8 * MiB, "grid");
  pool.allocate(20'000'000, "particles");
  for (const char* small : {"e", "d", "c", "b"}) pool.allocate(static_cast<std::size_t>(small[0]) * 1024, small);
  pool.allocate(64, nullptr);
  pool.free(pool.allocate(1000, "gone"));
  const std::string text = failure(pool, 1'500'000'000, "halo");
  expect_contains(text, {"no memory for 1.50 GB (1500000000 bytes) for 'halo' on GPU 0 (fake)", "it has ",
                         "the pool holds ", "in use", "the largest range 2.", "'grid' 25.17 MB in 3",
                         "'particles' 20.00 MB in 1", "'e' 103.42 kB in 1", "'c' ", "use more GPUs"});
  EXPECT_LT(text.find("'grid'"), text.find("'particles'")) << "the largest first";
  for (const char* absent : {"'b'", "'unnamed'", "'gone'", "\n"})
    EXPECT_EQ(text.find(absent), std::string::npos) << text;
}

TEST(slab_pool, out_of_memory_gives_exact_sizes) {
  fake_source source(4 * MiB);
  slab_pool pool(source, 2 * MiB);
  void* a = pool.allocate(2 * MiB, "a");
  source.largest = 0;
  EXPECT_EQ(failure(pool, 300, "b"),
            "no memory for 300 bytes for 'b' on GPU 0 (fake): it has 2.10 MB free; the pool holds 2.10 MB, "
            "of which 2.10 MB are in use and 0 bytes free (the largest range 0 bytes); largest holders: 'a' 2.10 MB in "
            "1; use more GPUs or nodes, or a smaller problem");
  pool.free(a);
  expect_contains(failure(pool, ~std::size_t{0}, "c"), {"18.45 EB (18446744073709551615 bytes)", "2.10 MB free (the"});
  EXPECT_EQ(failure(pool, ~std::size_t{0}, "c").find("holders"), std::string::npos) << "there are none";
}

TEST(slab_pool, can_be_used_after_out_of_memory) {
  fake_source source(8 * MiB);
  slab_pool pool(source, 2 * MiB);
  std::vector<void*> all;
  while (true) {
    try {
      all.push_back(pool.allocate(MiB, "test"));
    } catch (const out_of_memory&) {
      break;
    }
  }
  EXPECT_EQ(all.size(), 8U);
  EXPECT_EQ(pool.used().in_use, 8 * MiB);
  EXPECT_EQ(pool.used().allocations, 8U);
  pool.free(all[3]);
  EXPECT_EQ(pool.allocate(MiB, "test"), all[3]);
  for (void* m : all) pool.free(m);
  EXPECT_NE(failure(pool, 9 * MiB, "too large"), "");
  pool.free(pool.allocate(8 * MiB, "all"));
  EXPECT_EQ(pool.used().in_use, 0U);
}

TEST(slab_pool, holders_are_summed_by_their_text) {
  fake_source source(64 * MiB);
  slab_pool pool(source, 2 * MiB);
  std::string name = "grid";
  void* a = pool.allocate(1024, name.c_str());
  name = "none";  // it was copied
  void* b = pool.allocate(2048, "grid");
  void* c = pool.allocate(4096, "halo");
  auto all = pool.holders();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].holder, "halo");
  EXPECT_EQ(all[1].holder, "grid");
  EXPECT_EQ(all[1].bytes, 3072U);
  EXPECT_EQ(all[1].count, 2U);
  for (void* m : {a, b, c}) pool.free(m);
  EXPECT_TRUE(pool.holders().empty());
}

TEST(slab_pool, high_water_stays) {
  fake_source source(64 * MiB);
  slab_pool pool(source, 2 * MiB);
  void* a = pool.allocate(4096, "test");
  void* b = pool.allocate(4096, "test");
  pool.free(a);
  pool.free(b);
  pool.free(pool.allocate(4096, "test"));
  EXPECT_EQ(pool.used().high_water, 8192U);
}

TEST(slab_pool, several_threads) {
  fake_source source(64 * MiB);
  slab_pool pool(source, 4 * MiB);
  std::vector<std::vector<std::pair<void*, std::size_t>>> kept(4);
  std::atomic<int> refused{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kept.size(); ++t) {
    threads.emplace_back([&pool, &refused, &live = kept[t], t] {
      std::mt19937 random(t);
      for (int i = 0; i < 3000; ++i) {
        if (live.size() < 50 && random() % 2 == 0) {
          const std::size_t bytes = (1 + random() % 1000) * 512;
          try {
            live.emplace_back(pool.allocate(bytes, t % 2 == 0 ? "even" : "odd"), bytes);
          } catch (const out_of_memory&) {
            ++refused;
          }
        } else if (!live.empty()) {
          std::swap(live[random() % live.size()], live.back());
          EXPECT_TRUE(pool.slab_of(live.back().first));
          pool.free(live.back().first);
          live.pop_back();
        }
        if (i % 500 == 0) pool.trim();
        if (i % 100 == 0) {
          EXPECT_LE(pool.used().in_use, 64 * MiB);
          EXPECT_LE(pool.holders().size(), 2U);
        }
      }
    });
  }
  for (auto& t : threads) t.join();
  reference expected;
  std::uint64_t in_use = 0;
  for (auto& live : kept) {
    for (auto& [m, bytes] : live) {
      ASSERT_NO_FATAL_FAILURE(expected.add(m, bytes));
      in_use += bytes;
    }
  }
  EXPECT_EQ(pool.used().in_use, in_use);
  for (auto& live : kept) {
    for (auto& [m, bytes] : live) pool.free(m);
  }
  pool.trim();
  EXPECT_EQ(source.free_bytes(), 64 * MiB);
}

TEST(slab_pool_death, what_is_not_in_use_cannot_be_freed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  fake_source source(64 * MiB);
  slab_pool pool(source, 2 * MiB);
  void* m = pool.allocate(1024, "test");
  EXPECT_DEATH(pool.free(&pool), "not in use in the pool of GPU 0");
  EXPECT_DEATH(pool.free(reinterpret_cast<void*>(address_of(m) + 512)), "not in use");
  pool.free(m);
  EXPECT_DEATH(pool.free(m), "not in use");
}

}  // namespace

}  // namespace slab_pool_test
