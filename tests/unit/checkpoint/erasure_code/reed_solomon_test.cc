#include "imbrex/checkpoint/erasure_code/reed_solomon.h"

#include <gtest/gtest.h>

#include <bit>

#include "imbrex/base/error.h"
#include "unit/checkpoint/checkpoint_fixture.h"

namespace reed_solomon_test {

namespace {

using namespace imbrex;
using checkpoint_test::bytes;
using checkpoint_test::random_bytes;

/// Data and parity of a code, whole.
struct coded {
  coded(int k, int m, std::size_t n) : code(k, m) {
    for (int i = 0; i < k + m; ++i) blocks.push_back(i < k ? random_bytes(static_cast<std::uint64_t>(i), n) : bytes(n));
    std::vector<std::span<const std::byte>> data(blocks.begin(), blocks.begin() + k);
    std::vector<std::span<std::byte>> parity(blocks.begin() + k, blocks.end());
    code.encode(data, parity);
  }
  /// Whether the lost ones come back.
  bool restores(const std::vector<int>& lost) const {
    std::vector<bytes> left = blocks;
    for (const int i : lost)
      std::fill(left[static_cast<std::size_t>(i)].begin(), left[static_cast<std::size_t>(i)].end(), std::byte{0x55});
    const std::vector<std::span<std::byte>> views(left.begin(), left.end());
    code.restore(views, lost);
    return left == blocks;
  }
  reed_solomon code;
  std::vector<bytes> blocks;
};

struct reed_solomons : testing::Test {
  void SetUp() override {
    if (!reed_solomon::is_built()) GTEST_SKIP() << "this build has no ISA-L";
  }
};

TEST_F(reed_solomons, restore_every_subset_of_lost_blocks) {
  for (const auto& [k, m] : {std::pair{1, 1}, {1, 3}, {2, 1}, {4, 2}, {3, 3}, {8, 3}, {5, 5}}) {
    const coded c(k, m, 300);
    int num_subsets = 0;
    for (std::uint32_t subset = 0; subset < 1u << (k + m); ++subset) {
      if (std::popcount(subset) > m) continue;
      std::vector<int> lost;
      for (int i = 0; i < k + m; ++i) {
        if ((subset >> i & 1) != 0) lost.push_back(i);
      }
      EXPECT_TRUE(c.restores(lost)) << k << "+" << m << ", subset " << subset;
      ++num_subsets;
    }
    EXPECT_GT(num_subsets, m);
  }
}

TEST_F(reed_solomons, blocks_of_any_length) {
  for (const std::size_t n : {0, 1, 15, 63, 64, 65, 32 * 1024 + 1, 1'000'000}) {
    EXPECT_TRUE(coded(4, 2, n).restores({1, 4})) << n;
  }
}

TEST_F(reed_solomons, as_many_blocks_as_there_can_be) {
  const coded c(250, 6, 100);
  EXPECT_TRUE(c.restores({0, 50, 100, 249, 250, 255}));
  EXPECT_TRUE(c.restores({249, 0, 0, 7, 8}));  // in any order, also twice
  EXPECT_THROW(reed_solomon(251, 6), usage_error);
}

TEST_F(reed_solomons, refuse_what_cannot_be) {
  EXPECT_THROW(reed_solomon(0, 1), usage_error);
  EXPECT_THROW(reed_solomon(1, 0), usage_error);
  const coded c(3, 2, 10);
  EXPECT_THROW(c.restores({0, 1, 2}), checkpoint_error);
  std::vector<bytes> blocks(5, bytes(10));
  const std::vector<std::span<std::byte>> few(blocks.begin(), blocks.begin() + 4);
  const std::vector<int> one{0}, none_such{5};
  EXPECT_THROW(c.code.restore(few, one), usage_error);
  blocks[2].resize(11);
  const std::vector<std::span<std::byte>> uneven(blocks.begin(), blocks.end());
  EXPECT_THROW(c.code.restore(uneven, one), usage_error);
  blocks[2].resize(10);
  const std::vector<std::span<std::byte>> all(blocks.begin(), blocks.end());
  EXPECT_THROW(c.code.restore(all, none_such), usage_error);
}

TEST(reed_solomon_without_isal, says_what_to_install) {
  if (reed_solomon::is_built()) GTEST_SKIP() << "this build has ISA-L";
  try {
    reed_solomon(2, 1);
    FAIL();
  } catch (const not_built& e) {
    EXPECT_NE(std::string(e.what()).find("install libisal-dev"), std::string::npos) << e.what();
  }
}

}  // namespace

}  // namespace reed_solomon_test
