#include "imbrex/base/memory/resize_unfilled.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace resize_unfilled_test {

using imbrex::detail::resize_unfilled;

namespace {

struct filled_by_default {
  int a = 1;
  double b = 2;
};

template <class T>
void has_room_for(std::vector<T> v, std::size_t n) {
  resize_unfilled(v, n);
  ASSERT_EQ(v.size(), n);
  ASSERT_GE(v.capacity(), n);
  v.assign(n, T{});
  v.push_back(T{});
  EXPECT_EQ(v.size(), n + 1);
  EXPECT_EQ(std::vector<T>(v).size(), n + 1);
}

TEST(resize_unfilled, grows_and_shrinks_vectors) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{100'000}}) {
    has_room_for(std::vector<std::uint8_t>(), n);
    has_room_for(std::vector<double>(50), n);
    has_room_for(std::vector<filled_by_default>(3), n);
  }
}

TEST(resize_unfilled, resizes_other_containers) {
  std::string s = "text";
  resize_unfilled(s, 6);
  EXPECT_EQ(s, std::string("text\0\0", 6));
  std::vector<std::string> v{"a"};
  resize_unfilled(v, 2);
  EXPECT_EQ(v, (std::vector<std::string>{"a", ""}));
  std::vector<bool> bits;
  resize_unfilled(bits, 3);
  EXPECT_EQ(bits.size(), 3u);
}

TEST(resize_unfilled, says_no_to_what_no_vector_holds) {
  std::vector<double> v;
  EXPECT_THROW(resize_unfilled(v, v.max_size() + 1), std::length_error);
}

}  // namespace

}  // namespace resize_unfilled_test
