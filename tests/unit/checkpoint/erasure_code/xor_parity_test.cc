#include "imbrex/checkpoint/erasure_code/xor_parity.h"

#include <gtest/gtest.h>

#include "imbrex/base/error.h"
#include "unit/checkpoint/checkpoint_fixture.h"

namespace xor_parity_test {

namespace {

using namespace imbrex;
using checkpoint_test::bytes;
using checkpoint_test::random_bytes;
using block_views = std::vector<std::span<const std::byte>>;

TEST(xor_parities, restore_any_one_block) {
  for (const std::size_t longest : {0, 1, 100, 16 * 1024, 100'000}) {
    for (const std::size_t num_blocks : {1, 2, 3, 8}) {
      std::vector<bytes> blocks;
      for (std::size_t i = 0; i < num_blocks; ++i) blocks.push_back(random_bytes(i, longest - longest * i / 10));
      const block_views all(blocks.begin(), blocks.end());
      bytes parity(longest, std::byte{0xff});
      xor_parity(all, parity);
      bytes one_by_one(longest);
      for (const auto block : all) xor_into(one_by_one, block);
      EXPECT_EQ(parity, one_by_one);
      for (std::size_t lost = 0; lost < num_blocks; ++lost) {
        block_views others = all;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(lost));
        bytes restored(blocks[lost].size());
        restore_by_xor(others, parity, restored);
        EXPECT_EQ(restored, blocks[lost]);
      }
    }
  }
}

TEST(xor_parities, of_no_block_are_zero) {
  bytes parity(100, std::byte{1});
  xor_parity({}, parity);
  EXPECT_EQ(parity, bytes(100));
}

TEST(xor_parities, are_as_long_as_the_longest_block) {
  const bytes block(11);
  const block_views all{block};
  bytes parity(10), lost(11);
  EXPECT_THROW(xor_parity(all, parity), usage_error);
  EXPECT_THROW(xor_into(parity, block), usage_error);
  EXPECT_THROW(restore_by_xor({}, parity, lost), usage_error);
}

}  // namespace

}  // namespace xor_parity_test
