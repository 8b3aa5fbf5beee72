#include "imbrex/device/buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "imbrex/base/error.h"

namespace buffer_test {
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

TEST(buffer_views, have_slices_that_are_inside) {
  double six[6] = {};
  const buffer_view<double> view(six, 6, memory_kind::host);
  EXPECT_EQ(view.slice(2, 4).data, six + 2);
  EXPECT_EQ(view.slice(6, 0).size, 0u);
  EXPECT_THAT(refusal([&] { view.slice(4, 3); }), HasSubstr("a slice from element 4, of 3, of a view of 6"));
  EXPECT_THAT(refusal([&] { view.slice(100, 5); }), HasSubstr("it has to be inside"));
  EXPECT_THAT(refusal([&] { view.slice(2, static_cast<std::size_t>(-1)); }), HasSubstr("it has to be inside"));
}

}  // namespace
}  // namespace buffer_test
