#include "imbrex/device/host/host_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <vector>

#include "imbrex/base/memory/sanitizer.h"

namespace host_memory_test {

using namespace imbrex;

namespace {

constexpr std::size_t page = 4096, huge = std::size_t{2} << 20;

std::uintptr_t place_of(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

TEST(host_memory, is_aligned_and_all_of_it_can_be_used) {
  host_memory m;
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{65}, huge - 1, huge, huge + 1, 2 * huge, 3 * huge + 5}) {
    void* const block = m.allocate(bytes);
    EXPECT_EQ(place_of(block) % 64, 0U) << bytes;
    std::memset(block, 1, bytes);
    m.free(block, bytes);
  }
  EXPECT_EQ(m.used().in_use, 0U);
}

// Where the address sanitizer watches, each block is the system's own.
constexpr const char* not_kept = "nothing is kept where the address sanitizer watches";

TEST(host_memory, comes_back_for_the_same_size) {
  if (is_watched_by_address_sanitizer()) GTEST_SKIP() << not_kept;
  host_memory m;
  void* const block = m.allocate(2 * huge);
  m.free(block, 2 * huge);
  EXPECT_EQ(m.allocate(2 * huge), block);
  EXPECT_EQ(m.used().from_system, 1U);
  m.free(block, 2 * huge);
}

TEST(host_memory, of_large_blocks_begins_at_different_places_of_a_page) {
  if (is_watched_by_address_sanitizer()) GTEST_SKIP() << not_kept;
  host_memory m;
  std::vector<void*> blocks;
  std::set<std::uintptr_t> places;
  for (int i = 0; i < 6; ++i) {
    blocks.push_back(m.allocate(huge));
    places.insert(place_of(blocks.back()) % page);
  }
  EXPECT_EQ(places.size(), blocks.size());
  for (void* b : blocks) m.free(b, huge);
}

TEST(host_memory, beyond_what_is_kept_goes_back_to_the_system) {
  host_memory m;
  const std::size_t half = (std::size_t{1} << 29) + huge;
  void* const a = m.allocate(half);
  void* const b = m.allocate(half);
  m.free(a, half);
  m.free(b, half);  // would be more than is kept
  EXPECT_LE(m.used().kept, std::size_t{1} << 30);
  EXPECT_EQ(m.used().in_use, 0U);
}

}  // namespace

}  // namespace host_memory_test
