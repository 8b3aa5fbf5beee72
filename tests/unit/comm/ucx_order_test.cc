#include "imbrex/comm/ucx/ucx_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace ucx_order_test {

namespace {

using namespace imbrex;  // NOLINT: a test

wire_message* numbered(std::uint32_t number) {
  wire_message* m = wire_message::make(0);
  ucx_order::set_number(m->header, number);
  return m;
}

/// Lets messages arrive with these numbers; gives the order in which they are delivered.
std::vector<std::uint32_t> delivered(ucx_order& order, const std::vector<std::uint32_t>& numbers) {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t n : numbers) {
    EXPECT_TRUE(order.arrive(numbered(n), [&](wire_message* m) {
      out.push_back(ucx_order::number_of(m->header));
      wire_message::destroy(m);
    }));
  }
  return out;
}

TEST(ucx_order, keeps_numbers) {
  wire_header h;
  for (const std::uint32_t n : {0U, 1U, 255U, 256U, 70'000U, ucx_order::modulus - 1}) {
    ucx_order::set_number(h, n);
    EXPECT_EQ(ucx_order::number_of(h), n);
  }
}

TEST(ucx_order, delivers_every_permutation_in_order) {
  std::vector<std::uint32_t> numbers(6);
  std::iota(numbers.begin(), numbers.end(), 0U);
  const std::vector<std::uint32_t> in_order = numbers;
  do {
    ucx_order order;
    EXPECT_EQ(delivered(order, numbers), in_order);
  } while (std::next_permutation(numbers.begin(), numbers.end()));
}

TEST(ucx_order, goes_on_after_the_largest_number) {
  ucx_order order;
  for (std::uint32_t n = 0; n < ucx_order::modulus - 2; ++n) {
    wire_message* m = numbered(n);
    ASSERT_TRUE(order.arrive(m, [](wire_message* d) { wire_message::destroy(d); }));
  }
  const std::uint32_t last = ucx_order::modulus - 1;
  EXPECT_EQ(delivered(order, {1, last, 0, last - 1}), (std::vector<std::uint32_t>{last - 1, last, 0, 1}));
}

TEST(ucx_order, refuses_a_number_twice) {
  ucx_order order;
  EXPECT_EQ(delivered(order, {0}).size(), 1U);
  for (const std::uint32_t first : {0U, 2U}) {
    if (first == 2) delivered(order, {2});  // waits
    wire_message* again = numbered(first);
    EXPECT_FALSE(order.arrive(again, [](wire_message*) { FAIL() << "delivered twice"; }));
    wire_message::destroy(again);
  }
}

}  // namespace

}  // namespace ucx_order_test
