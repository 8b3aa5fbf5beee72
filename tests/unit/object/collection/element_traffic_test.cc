#include "imbrex/object/collection/element_traffic.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <vector>

namespace imbrex {
namespace element_traffic_test {
namespace {

std::map<std::uint64_t, double> sums_of(const std::vector<element_exchange>& all) {
  std::map<std::uint64_t, double> sums;
  for (const element_exchange& s : all) sums[s.to] += s.bytes;
  return sums;
}

TEST(element_traffic, counts_every_message_at_first) {
  element_traffic t;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(t.takes_next());
    t.add_message(i % 2 == 0 ? 1 : 2, 7, 10);
  }
  std::map<std::uint64_t, double> from;
  for (const element_exchange& s : t.take(1000)) from[s.from] += s.bytes;
  EXPECT_EQ(from, (std::map<std::uint64_t, double>{{1, 500}, {2, 500}}));
  EXPECT_TRUE(t.take(1000).empty()) << "they have been taken";
}

TEST(element_traffic, of_very_many_messages_looks_at_some_and_tells_about_as_much) {
  element_traffic t;
  // What is sent is periodic, as in a program; sampling must not be.
  const std::array<std::size_t, 6> bytes = {100, 100, 100, 100, 800, 800};
  constexpr int messages = 60000;
  for (const std::size_t enough : {messages, 6000, 6000, 2000}) {  // for the next interval
    int looked_at = 0;
    for (int i = 0; i < messages; ++i) {
      const auto to = static_cast<std::size_t>(i) % bytes.size();
      if (!t.takes_next()) continue;
      ++looked_at;
      t.add_message(1, to, bytes[to]);
    }
    const auto sums = sums_of(t.take(enough));
    ASSERT_EQ(sums.size(), bytes.size());
    for (const auto& [to, sum] : sums) EXPECT_NEAR(sum / (bytes[to] * messages / 6), 1, 0.1) << to << " " << looked_at;
    if (enough == 2000) {
      EXPECT_LT(looked_at, 6600);
    }
  }
}

TEST(element_identity, differs_by_collection_and_index) {
  const std::vector<std::byte> one{std::byte{1}, std::byte{0}}, two{std::byte{2}, std::byte{0}};
  EXPECT_EQ(element_identity({3, 1}, one), element_identity({3, 1}, one));
  EXPECT_NE(element_identity({3, 1}, one), element_identity({3, 1}, two));
  EXPECT_NE(element_identity({3, 1}, one), element_identity({1, 3}, one));
}

}  // namespace
}  // namespace element_traffic_test
}  // namespace imbrex
