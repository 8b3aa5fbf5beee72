#include "imbrex/base/element_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "imbrex/base/error.h"

namespace element_bytes_test {
namespace {

using namespace imbrex;
using testing::HasSubstr;

std::string refusal(const std::function<void()>& what) {
  try {
    what();
  } catch (const usage_error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(element_bytes, are_counted_where_a_machine_may_have_them) {
  EXPECT_EQ(bytes_of(0, 8), 0u);
  EXPECT_EQ(bytes_of(std::size_t{1} << 56, 8), std::uint64_t{1} << 59) << "whether there are so many is for others";
  EXPECT_EQ(elements_of(3, 5, 7), 105u);
}

TEST(element_bytes, that_overflow_or_were_negative_are_refused) {
  EXPECT_THAT(refusal([] { bytes_of(static_cast<std::size_t>(-1), 8); }), HasSubstr("(-1 as an unsigned number)"));
  EXPECT_THAT(refusal([] { bytes_of((std::size_t{1} << 61) + 1, 8); }), HasSubstr("more than any machine has"));
  EXPECT_THAT(refusal([] { bytes_of(std::size_t{1} << 63, 1); }), HasSubstr("more than any machine has"));
  EXPECT_THAT(refusal([] { elements_of(std::size_t{1} << 32, std::size_t{1} << 32, 1); }), HasSubstr("4294967296 x"));
  EXPECT_THAT(refusal([] { elements_of(6, 3074457345618258603, 1); }), HasSubstr("more than any machine has"));
}

}  // namespace
}  // namespace element_bytes_test
