#include "input/funcfl_file.h"

#include "unit/minimd/written_file.h"

namespace md {
namespace funcfl_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string example =
    "Cu, made up\n"
    "   29     63.550         3.6150    FCC\n"
    "  5  5e-04  6  1.0e-02  0.055\n"
    "  0. -3.1 -5.2\n"
    "-6.9 +8.5 11.5 11.4\n"
    "\n"
    "11.3 11.2 11.1 11.0 1 2 3 4 5\n"
    "0.\n";

funcfl read(const std::string& text) {
  const test_folder folder;
  return read_funcfl(folder.write("Cu.eam", text));
}

std::string refusal(const std::string& old, const std::string& replacement) {
  return refusal_of([&] { read(with(example, old, replacement)); });
}

TEST(funcfl, tables_are_read_over_lines_of_any_length) {
  const funcfl f = read(example);
  EXPECT_EQ(f.mass, 63.55);
  EXPECT_EQ(f.drho, 5e-4);
  EXPECT_EQ(f.dr, 1e-2);
  EXPECT_EQ(f.cutoff, 0.055);
  EXPECT_THAT(f.embedding, ElementsAre(0, -3.1, -5.2, -6.9, 8.5));
  EXPECT_THAT(f.charge, ElementsAre(11.5, 11.4, 11.3, 11.2, 11.1, 11.0));
  EXPECT_THAT(f.density, ElementsAre(1, 2, 3, 4, 5, 0));
}

TEST(funcfl, the_head_is_checked) {
  EXPECT_THAT(refusal("63.550", "0"), AllOf(HasSubstr("Cu.eam:2: mass '0'"), HasSubstr("positive")));
  EXPECT_THAT(refusal("   29 ", " Cu "), HasSubstr("Cu.eam:2: atomic number 'Cu'"));
  EXPECT_THAT(refusal("  5  5e", "  4  5e"), AllOf(HasSubstr("Cu.eam:3: nrho '4'"), HasSubstr("at least 5")));
  EXPECT_THAT(refusal("5e-04", "-5e-04"), HasSubstr("Cu.eam:3: drho '-5e-04'"));
  EXPECT_THAT(refusal("  6 ", "  6.5 "), HasSubstr("Cu.eam:3: nr '6.5'"));
  EXPECT_THAT(refusal("1.0e-02", "inf"), HasSubstr("Cu.eam:3: dr 'inf'"));
  EXPECT_THAT(refusal("  0.055", ""), HasSubstr("Cu.eam:3: cutoff is missing"));
  EXPECT_THAT(refusal("0.055", "0.07"), AllOf(HasSubstr("Cu.eam:3: cutoff 0.07"), HasSubstr("nr * dr = 0.06")));
  EXPECT_THAT(refusal_of([] { read("one line\n"); }), HasSubstr("ends before the line of the mass"));
}

TEST(funcfl, values_are_checked) {
  EXPECT_THAT(refusal("-5.2", "nan"), HasSubstr("Cu.eam:4: F 'nan'"));
  EXPECT_THAT(refusal("11.2", "11.2x"), HasSubstr("Cu.eam:7: Z '11.2x'"));
  EXPECT_THAT(refusal("\n0.\n", "\n"), AllOf(HasSubstr("after 5 of 6 values of the density"), HasSubstr("1 more")));
  EXPECT_THAT(refusal("\n0.\n", "\n0. 7\n"), AllOf(HasSubstr("Cu.eam:8: '7'"), HasSubstr("nrho + 2 nr")));
  EXPECT_THAT(refusal("  6 ", "  900000000000000 "), HasSubstr("of 900000000000000 values"));
}

}  // namespace
}  // namespace funcfl_test
}  // namespace md
