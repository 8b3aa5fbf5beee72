#include "imbrex/comm/data/switch_points.h"

#include <gtest/gtest.h>

#include <functional>

namespace switch_points_test {

namespace {

using namespace imbrex;
using way = protocol_table::way;

constexpr std::uint64_t always = protocol_table::always;

std::vector<std::uint64_t> doublings() {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t b = 64; b <= 4 << 20; b *= 2) sizes.push_back(b);
  return sizes;
}

/// Seven repeats around a model: so much to begin with, and so much for each byte.
times_by_size line(double us, double us_per_kib, double noise = 0.01) {
  times_by_size all;
  for (const std::uint64_t b : doublings()) {
    const double t = us + us_per_kib * static_cast<double>(b) / 1024;
    all.push_back({t, t * (1 + noise), t * (1 - noise), t, t * (1 + 2 * noise), t * (1 - noise), t * 5});
  }
  return all;
}

std::optional<std::uint64_t> between(const times_by_size& before, const times_by_size& after) {
  return switch_point(doublings(), before, after);
}

TEST(switch_points, are_where_the_lines_cross) {
  // 1 + 0.2 k = 3 + 0.1 k at 20 KiB: 16 KiB is the last size before.
  EXPECT_EQ(between(line(1, 0.2), line(3, 0.1)), 16u << 10);
  EXPECT_EQ(between(line(1, 0.2), line(1.5, 0.1)), 4u << 10);
}

TEST(switch_points, may_be_before_or_behind_all_sizes) {
  EXPECT_EQ(between(line(3, 0.2), line(1, 0.1)), 0u);
  EXPECT_EQ(between(line(1, 0.1), line(3, 0.2)), always);
  EXPECT_EQ(between(line(1, 0.1), line(1, 0.1)), std::nullopt);
}

TEST(switch_points, what_is_lost_in_noise_changes_nothing) {
  EXPECT_EQ(between(line(1, 0.1), line(1.01, 0.1)), std::nullopt);           // within 2 %
  EXPECT_EQ(between(line(1, 0.1, 0.3), line(1.2, 0.1, 0.3)), std::nullopt);  // within the quartiles
  EXPECT_TRUE(clearly_ahead({1, 1, 1, 1, 9}, {2, 2, 2, 2, 0.1}));            // one stray repeat each
  EXPECT_FALSE(clearly_ahead({1, 2, 3, 4, 5}, {1.1, 2.5, 3.5, 4.5, 5.5}));
}

TEST(switch_points, one_outlier_does_not_decide) {
  times_by_size before = line(1, 0.2), after = line(3, 0.1);
  for (double& t : after[14]) t *= 2.2;  // 1 MiB
  EXPECT_EQ(between(before, after), 16u << 10);
  after = line(3, 0.1);
  for (double& t : after.back()) t *= 2.2;
  EXPECT_EQ(between(before, after), 16u << 10);
  for (double& t : before[2]) t *= 4;  // 256 bytes
  EXPECT_EQ(between(before, after), 16u << 10);
}

protocol_times host_times(const times_by_size& packed, const times_by_size& direct) {
  return {memory_kind::host, doublings(), {{way::packed, 0, packed}, {way::direct, 0, direct}}};
}

TEST(choose_points, of_host_memory) {
  EXPECT_EQ(choose_points(host_times(line(1, 0.2), line(3, 0.1)), {}).packed_host_bytes, 16u << 10);
  EXPECT_EQ(choose_points(host_times(line(1, 0.1), line(3, 0.1)), {}).packed_host_bytes, 4u << 20);
  EXPECT_EQ(choose_points(host_times(line(1, 0.1), line(1, 0.1)), {}), protocol_table());
  EXPECT_EQ(choose_points({memory_kind::host, doublings(), {{way::packed, 0, line(1, 1)}}}, {}), protocol_table());
}

TEST(choose_points, of_device_memory_that_can_go_every_way) {
  const protocol_times t{memory_kind::device,
                         doublings(),
                         {{way::packed, 0, line(5, 0.5)},
                          {way::direct, 0, line(20, 0.05)},
                          {way::shared, 0, line(30, 0.01)},
                          {way::staged, 64 << 10, line(8, 0.3)},
                          {way::staged, 256 << 10, line(8, 0.2)}}};
  const protocol_table p = choose_points(t, {});
  EXPECT_EQ(p.chunk_bytes, 256u << 10);
  EXPECT_EQ(p.staged_device_bytes, 64u << 10);  // 8 + 0.2 k = 20 + 0.05 k at 80 KiB
  // Where a GPU can read in place it does, though a single message takes longer.
  EXPECT_EQ(p.packed_device_bytes, 0u);
  EXPECT_EQ(p.unshared_device_bytes, 0u);
  EXPECT_EQ(p.packed_host_bytes, protocol_table().packed_host_bytes);
}

TEST(choose_points, of_device_memory_without_a_transport_for_it) {
  const protocol_times t{
      memory_kind::device, doublings(), {{way::packed, 0, line(5, 0.5)}, {way::staged, 1 << 20, line(8, 0.2)}}};
  const protocol_table p = choose_points(t, {});
  EXPECT_EQ(p.packed_device_bytes, 8u << 10);
  EXPECT_EQ(p.staged_device_bytes, 0u);
  EXPECT_EQ(p.unshared_device_bytes, 0u);
}

TEST(choose_points, a_way_that_is_never_ahead_is_not_taken) {
  const protocol_times t{
      memory_kind::device,
      doublings(),
      {{way::packed, 0, line(9, 0.5)}, {way::direct, 0, line(9, 0.9)}, {way::staged, 1 << 20, line(8, 0.2)}}};
  const protocol_table p = choose_points(t, {});
  EXPECT_EQ(p.packed_device_bytes, 0u);
  EXPECT_EQ(p.staged_device_bytes, always);
}

TEST(choose_points, pieces_as_good_as_the_usual_ones_change_nothing) {
  protocol_times t{memory_kind::device, doublings(), {}};
  for (const std::uint64_t chunk : {64 << 10, 256 << 10, 1 << 20, 4 << 20})
    t.ways.push_back({way::staged, chunk, line(8, chunk == (4 << 20) ? 0.199 : 0.2)});
  EXPECT_EQ(choose_points(t, {}).chunk_bytes, 1u << 20);
  t.ways[3].us = line(8, 0.1);
  EXPECT_EQ(choose_points(t, {}).chunk_bytes, 4u << 20);
}

}  // namespace

}  // namespace switch_points_test
