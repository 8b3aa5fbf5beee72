#include "imbrex/checkpoint/memory/parity_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"
#include "imbrex/checkpoint/memory/stripe_code.h"

namespace parity_layout_test {

namespace {

using namespace imbrex;
using bytes = std::vector<std::byte>;

TEST(parity_groups, have_every_rank_once_and_are_of_about_the_size_asked_for) {
  for (int ranks = 1; ranks <= 40; ++ranks) {
    for (int hosts : {1, 2, 3, 8}) {
      for (int size : {2, 3, 8}) {
        std::vector<int> host_of_rank;
        for (int r = 0; r < ranks; ++r) host_of_rank.push_back(r % hosts);
        std::set<std::int32_t> seen;
        for (const auto& group : parity_groups(host_of_rank, size)) {
          EXPECT_TRUE(std::ranges::is_sorted(group));
          EXPECT_LT(group.size(), 2 * static_cast<std::size_t>(size)) << ranks << " ranks, groups of " << size;
          EXPECT_GE(group.size(), ranks > 1 ? 2U : 1U);
          for (const std::int32_t r : group) EXPECT_TRUE(seen.insert(r).second);
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(ranks));
      }
    }
  }
}

TEST(parity_groups, are_over_hosts) {
  // By host first, as mpirun places ranks: 4 hosts with 6 each.
  std::vector<int> host_of_rank;
  for (int h = 0; h < 4; ++h) host_of_rank.insert(host_of_rank.end(), 6, h);
  for (const int size : {2, 4, 8}) {
    for (const auto& group : parity_groups(host_of_rank, size)) {
      std::set<int> hosts;
      for (const std::int32_t r : group) hosts.insert(host_of_rank[static_cast<std::size_t>(r)]);
      EXPECT_EQ(hosts.size(), group.size());
    }
  }
}

/// A group as its ranks would have it, in one place.
struct group {
  parity_layout layout;
  std::vector<bytes> images;
  std::vector<std::vector<bytes>> parity;  // by place

  group(int size, int num_parity, random_sequence& random) {
    layout.members.resize(static_cast<std::size_t>(size));
    std::iota(layout.members.begin(), layout.members.end(), 0);
    layout.num_parity = num_parity;
    std::uint64_t largest = 0;
    for (int i = 0; i < size; ++i) {
      bytes& image = images.emplace_back(random.below(4000));
      for (std::byte& b : image) b = static_cast<std::byte>(random.next());
      largest = std::max<std::uint64_t>(largest, image.size());
    }
    layout.fit(largest);
    stripe_code code(layout.num_data(), num_parity);
    for (int place = 0; place < size; ++place) {
      auto& own = parity.emplace_back();
      for (int j = 0; j < num_parity; ++j) {
        std::vector<std::span<const std::byte>> data(static_cast<std::size_t>(layout.num_data()));
        for (int other = 0; other < size; ++other) {
          const auto b = layout.block_of(other, layout.stripe_of_parity(place, j));
          if (b.segment >= 0) data[static_cast<std::size_t>(b.number)] = segment(other, b.segment);
        }
        code.encode(data, j, own.emplace_back(layout.segment_bytes));
      }
    }
  }

  std::span<const std::byte> segment(int place, int i) const {
    const bytes& image = images[static_cast<std::size_t>(place)];
    const auto range = layout.in_segment(i, 0, layout.segment_bytes, image.size());
    return std::span(image).subspan(range.begin, range.bytes);
  }

  bytes restored(int place, const std::set<int>& lost) const {
    bytes image(images[static_cast<std::size_t>(place)].size());
    stripe_code code(layout.num_data(), layout.num_parity);
    for (int i = 0; i < layout.num_data(); ++i) {
      const int stripe = layout.stripe_of_segment(place, i);
      EXPECT_EQ(layout.block_of(place, stripe).segment, i);
      std::vector<std::optional<std::span<const std::byte>>> blocks(layout.members.size());
      for (int other = 0; other < layout.size(); ++other) {
        if (lost.contains(other)) continue;
        const auto b = layout.block_of(other, stripe);
        const bytes* const p =
            b.parity < 0 ? nullptr : &parity[static_cast<std::size_t>(other)][static_cast<std::size_t>(b.parity)];
        blocks[static_cast<std::size_t>(b.number)] =
            p != nullptr ? std::span<const std::byte>(*p) : segment(other, b.segment);
      }
      bytes whole(layout.segment_bytes);
      code.restore(blocks, layout.block_of(place, stripe).number, whole);
      const auto range = layout.in_segment(i, 0, layout.segment_bytes, image.size());
      std::copy_n(whole.begin(), range.bytes, image.begin() + static_cast<std::ptrdiff_t>(range.begin));
    }
    return image;
  }
};

TEST(parity_layout, any_ranks_that_are_lost_are_restored_up_to_the_number_of_parity_blocks) {
  random_sequence random(1);
  for (int size = 2; size <= 9; ++size) {
    for (int num_parity = 1; num_parity < size && num_parity <= 3; ++num_parity) {
      if (num_parity > 1 && !reed_solomon::is_built()) continue;
      for (int again = 0; again < 5; ++again) {
        const group g(size, num_parity, random);
        std::set<int> lost;
        while (static_cast<int>(lost.size()) < num_parity)
          lost.insert(static_cast<int>(random.below(static_cast<std::uint64_t>(size))));
        for (const int place : lost)
          EXPECT_EQ(g.restored(place, lost), g.images[static_cast<std::size_t>(place)])
              << "place " << place << " of " << size << " with " << num_parity << " parity blocks";
      }
    }
  }
}

TEST(parity_layout, each_stripe_has_each_block_once) {
  for (int size = 2; size <= 9; ++size) {
    for (int num_parity = 1; num_parity < size; ++num_parity) {
      parity_layout layout;
      layout.members.resize(static_cast<std::size_t>(size));
      layout.num_parity = num_parity;
      for (int stripe = 0; stripe < size; ++stripe) {
        std::set<int> numbers;
        for (int place = 0; place < size; ++place) {
          const auto b = layout.block_of(place, stripe);
          EXPECT_TRUE(numbers.insert(b.number).second);
          EXPECT_EQ(b.parity >= 0, b.number >= layout.num_data());
          if (b.parity >= 0) {
            EXPECT_EQ(layout.stripe_of_parity(place, b.parity), stripe);
          } else {
            EXPECT_EQ(layout.stripe_of_segment(place, b.segment), stripe);
          }
        }
        EXPECT_EQ(*numbers.rbegin(), size - 1);
      }
    }
  }
}

TEST(stripe_code, says_when_too_many_are_lost) {
  stripe_code code(3, 1);
  bytes a(5), to(5);
  const std::vector<std::optional<std::span<const std::byte>>> blocks{a, std::nullopt, a, std::nullopt};
  EXPECT_THROW(code.restore(blocks, 1, to), checkpoint_error);
}

}  // namespace

}  // namespace parity_layout_test
