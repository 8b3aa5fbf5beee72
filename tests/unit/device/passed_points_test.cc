#include "imbrex/device/passed_points.h"

#include <gtest/gtest.h>

namespace passed_points_test {

namespace {

using imbrex::passed_points;

TEST(passed_points, include_what_comes_before_them_in_their_stream) {
  passed_points p;
  EXPECT_FALSE(p.include({5, 1}));
  p.add({5, 10});
  EXPECT_TRUE(p.include({5, 10}));
  EXPECT_TRUE(p.include({5, 3}));
  EXPECT_FALSE(p.include({5, 11}));
  EXPECT_FALSE(p.include({6, 1}));
  p.add({5, 4});  // an older one takes nothing away
  EXPECT_TRUE(p.include({5, 10}));
}

TEST(passed_points, know_nothing_of_points_without_a_place) {
  passed_points p;
  p.add({0, 10});
  EXPECT_FALSE(p.include({0, 1}));
}

TEST(passed_points, forget_rather_than_be_wrong) {
  passed_points p;
  for (std::uint64_t stream = 1; stream <= 1000; ++stream) p.add({stream, stream});
  for (std::uint64_t stream = 1; stream <= 1000; ++stream) {
    EXPECT_FALSE(p.include({stream, stream + 1}));
    if (stream > 968) {
      EXPECT_TRUE(p.include({stream, stream}));
    }
  }
  p.forget();
  EXPECT_FALSE(p.include({1000, 1}));
}

}  // namespace

}  // namespace passed_points_test
