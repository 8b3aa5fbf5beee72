#include "sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "imbrex/base/error.h"

namespace pingpong {
namespace sizes_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(const std::string& text) {
  try {
    parse_sizes(text);
  } catch (const imbrex::usage_error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(sizes, lists_units_and_ranges) {
  EXPECT_THAT(parse_sizes("8"), ElementsAre(8));
  EXPECT_THAT(parse_sizes("1K,96K,1M,9M"), ElementsAre(1024, 98'304, 1'048'576, 9'437'184));
  EXPECT_THAT(parse_sizes("8:64"), ElementsAre(8, 16, 32, 64));
  EXPECT_THAT(parse_sizes("3:20"), ElementsAre(3, 6, 12));
  EXPECT_EQ(parse_sizes("8:8M").size(), 21);
  EXPECT_THAT(parse_sizes("1G"), ElementsAre(std::uint64_t{1} << 30));
}

TEST(sizes, are_sorted_and_each_there_once) {
  EXPECT_THAT(parse_sizes("1k,8:32,16,1024"), ElementsAre(8, 16, 32, 1024));
}

TEST(sizes, what_cannot_be_used_is_named) {
  EXPECT_THAT(refusal(""), HasSubstr("'' is no size"));
  EXPECT_THAT(refusal("8,"), HasSubstr("'' is no size"));
  EXPECT_THAT(refusal("8,x"), HasSubstr("'x' is no size"));
  EXPECT_THAT(refusal("K"), HasSubstr("'K' is no size"));
  EXPECT_THAT(refusal("8:"), HasSubstr("'8:' is no size"));
  EXPECT_THAT(refusal("-8"), HasSubstr("'-8' is no size"));
  EXPECT_THAT(refusal("1.5K"), HasSubstr("'1.5K' is no size"));
  EXPECT_THAT(refusal("0"), HasSubstr("'0' is empty"));
  EXPECT_THAT(refusal("0:8"), HasSubstr("'0:8' is empty"));
  EXPECT_THAT(refusal("2G"), HasSubstr("'2G' is larger"));
  EXPECT_THAT(refusal("99999999999999999999"), HasSubstr("is no size"));
  EXPECT_THAT(refusal("8M:8"), HasSubstr("'8M:8' goes downwards"));
}

TEST(sizes, text_reads_back) {
  for (const std::uint64_t bytes : {1UL, 8UL, 1000UL, 1024UL, 98'304UL, 9UL << 20, 1UL << 30, (1UL << 20) + 1})
    EXPECT_THAT(parse_sizes(size_text(bytes)), ElementsAre(bytes));
  EXPECT_EQ(size_text(98'304), "96K");
}

}  // namespace
}  // namespace sizes_test
}  // namespace pingpong
