#include "imbrex/base/memory/slab.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/base/memory/sanitizer.h"

namespace slab_test {

using imbrex::slab;

namespace {

TEST(slab_memory, is_aligned_and_not_shared) {
  slab s;
  s.bind_to_this_thread();
  imbrex::random_sequence random(7);
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (int i = 0; i < 20'000; ++i) {
    if (!blocks.empty() && random.below(2) == 0) {
      std::swap(blocks[random.below(blocks.size())], blocks.back());
      const auto [p, n] = blocks.back();
      const auto mark = static_cast<unsigned char>(n * 31);
      for (std::size_t k = 0; k < n; k += 97) ASSERT_EQ(p[k], mark) << "a block of " << n << " bytes was overwritten";
      slab::free(p);
      blocks.pop_back();
    } else {
      const std::size_t n = random.below(4) == 0 ? random.below(100'000) : random.below(300);
      auto* p = static_cast<unsigned char*>(slab::allocate(n));
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(p) % 16, 0U);
      std::memset(p, static_cast<unsigned char>(n * 31), n);
      blocks.emplace_back(p, n);
    }
  }
  for (auto& b : blocks) slab::free(b.first);
  slab::unbind_this_thread();
}

TEST(slab_memory, is_reused_in_steady_state) {
  if (imbrex::address_sanitizer) GTEST_SKIP() << "under AddressSanitizer every block comes from the system";
  slab s;
  s.bind_to_this_thread();
  for (int round = 0; round < 3; ++round) {
    std::vector<void*> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(slab::allocate(100));
    for (void* b : blocks) slab::free(b);
  }
  const std::size_t after_three = s.bytes_reserved();
  for (int i = 0; i < 100'000; ++i) slab::free(slab::allocate(100));
  EXPECT_EQ(s.bytes_reserved(), after_three);
  slab::unbind_this_thread();
}

TEST(slab_memory, freed_on_another_thread_comes_home) {
  if (imbrex::address_sanitizer) GTEST_SKIP() << "under AddressSanitizer every block comes from the system";
  slab mine;
  slab theirs;
  mine.bind_to_this_thread();
  constexpr int rounds = 200, per_round = 500;
  std::atomic<std::vector<void*>*> handed{nullptr};
  std::thread other([&] {
    theirs.bind_to_this_thread();
    for (int r = 0; r < rounds; ++r) {
      std::vector<void*>* blocks = nullptr;
      while ((blocks = handed.exchange(nullptr)) == nullptr) std::this_thread::yield();
      for (void* b : *blocks) slab::free(b);
      slab::flush_returns();
      delete blocks;
    }
    slab::unbind_this_thread();
  });
  for (int r = 0; r < rounds; ++r) {
    auto* blocks = new std::vector<void*>;
    for (int i = 0; i < per_round; ++i) blocks->push_back(slab::allocate(64));
    handed = blocks;
    while (handed.load() != nullptr) std::this_thread::yield();
  }
  other.join();
  EXPECT_LT(mine.bytes_reserved(), std::size_t{64} * per_round * rounds / 4) << "blocks did not come back";
  slab::unbind_this_thread();
}

}  // namespace

}  // namespace slab_test
