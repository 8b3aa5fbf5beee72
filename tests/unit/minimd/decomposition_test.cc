#include "system/decomposition.h"

#include <gmock/gmock.h>

#include <cmath>

#include "imbrex/base/error.h"

namespace decomposition_test {

using namespace md;

TEST(md_decomposition, every_position_has_one_owner_whose_bounds_hold_it) {
  const decomposition d({10, 7, 3.1}, {7, 3, 1}, 2.8);
  for (int k = 0; k < 3; ++k) {
    for (int i = 0; i <= 10000; ++i) {
      const double x = std::nextafter(d.lengths()[k], 0) * i / 10000;
      const int owner = d.owner(k, x);
      ASSERT_GE(x, d.begin_of(k, owner));
      if (owner + 1 < d.boxes()[k]) {
        ASSERT_LT(x, d.begin_of(k, owner + 1));
      }
    }
    for (int i = 0; i < d.boxes()[k]; ++i) EXPECT_EQ(d.owner(k, d.begin_of(k, i)), i);
  }
}

TEST(md_decomposition, one_box_is_its_own_neighbour_in_26_images) {
  const decomposition d({10, 10, 10}, {1, 1, 1}, 2.8);
  ASSERT_EQ(d.offsets().size(), 26u);
  for (int k = 0; k < 26; ++k) {
    const box_index &a = d.offsets()[k], &b = d.offsets()[d.opposite(k)];
    for (int i = 0; i < 3; ++i) EXPECT_EQ(a[i], -b[i]);
    const auto n = d.at_offset({0, 0, 0}, a);
    EXPECT_EQ(n.box, (box_index{0, 0, 0}));
    EXPECT_EQ(n.shift, (std::array<int, 3>{-a[0], -a[1], -a[2]}));
  }
}

TEST(md_decomposition, thin_boxes_have_neighbours_in_several_layers) {
  const decomposition d({10, 10, 10}, {10, 2, 1}, 2.8);
  EXPECT_EQ(d.layers(), (std::array<int, 3>{3, 1, 1}));
  const auto n = d.at_offset({1, 0, 0}, {-3, 0, 0});
  EXPECT_EQ(n.box, (box_index{8, 0, 0}));
  EXPECT_EQ(n.shift[0], 1);
  // The corner of the third layer in x and the first of others touches nothing within reach but the plane between.
  EXPECT_THAT(d.offsets(), testing::Contains(box_index{3, 1, 1}));
}

TEST(md_decomposition, cuts_into_the_least_surface) {
  EXPECT_EQ(decomposition::of_least_surface({1, 1, 1}, 8), (box_index{2, 2, 2}));
  EXPECT_EQ(decomposition::of_least_surface({4, 1, 1}, 4), (box_index{4, 1, 1}));
  EXPECT_EQ(decomposition::of_least_surface({1, 1, 1}, 7)[0] * decomposition::of_least_surface({1, 1, 1}, 7)[1] *
                decomposition::of_least_surface({1, 1, 1}, 7)[2],
            7);
}

TEST(md_decomposition, refuses_a_box_narrower_than_atoms_act) {
  EXPECT_THAT([] { decomposition({10, 2.7, 10}, {1, 1, 1}, 2.8); },
              testing::ThrowsMessage<imbrex::usage_error>(testing::AllOf(
                  testing::HasSubstr("2.7 wide in y"), testing::HasSubstr("2.8"), testing::HasSubstr("more cells"))));
}

}  // namespace decomposition_test
