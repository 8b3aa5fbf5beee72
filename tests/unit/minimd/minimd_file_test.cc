#include "input/minimd_file.h"

#include "unit/minimd/written_file.h"

namespace md {
namespace minimd_file_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const std::string example =
    "An input\n"
    "\n"
    "lj             units (lj or metal)\n"
    "none           data file (none or filename)       \n"
    "lj\t       force style (lj or eam)\n"
    "0.5 1.25       epsilon and sigma; of others: 0.167 / 2.315\n"
    "8 9 10         size of problem\n"
    "7              timesteps\n"
    "0.005          timestep size \n"
    "1.44           initial temperature \n"
    "0.8442         density \n"
    "20             reneighboring every this many steps\n"
    "2.5 0.30       force cutoff and neighbor skin \n"
    "100            thermo calculation\n";

problem read(const std::string& text) {
  const test_folder folder;
  return read_minimd_file(folder.write("in", text));
}

std::string refusal(const std::string& old, const std::string& replacement) {
  return refusal_of([&] { read(with(example, old, replacement)); });
}

problem expected() {
  problem p;
  p.epsilon = 0.5;
  p.sigma = 1.25;
  p.cells = {8, 9, 10};
  p.steps = 7;
  return p;
}

TEST(minimd_file, values_begin_their_lines_and_comments_follow) { EXPECT_EQ(read(example), expected()); }

TEST(minimd_file, carriage_returns_and_a_missing_last_line_feed_do_not_matter) {
  std::string text = example;
  for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
  EXPECT_EQ(read(text), expected());
  EXPECT_EQ(read(example.substr(0, example.size() - 1)), expected());
}

TEST(minimd_file, metal_units_eam_and_a_data_file) {
  const problem p = read(with(with(with(example, "lj  ", "metal  "), "none", "a/1m.data"), "lj\t", "eam\t"));
  EXPECT_EQ(p.units, unit_system::metal);
  EXPECT_EQ(p.force, force_style::eam);
  EXPECT_EQ(p.data_file, "a/1m.data");
}

TEST(minimd_file, zero_means_never) {
  const problem p = read(with(with(with(example, "\n20 ", "\n0 "), "\n100 ", "\n0 "), "1.44", "0"));
  EXPECT_EQ(p.reneighbour_every, 0);
  EXPECT_EQ(p.thermo_every, 0);
  EXPECT_EQ(p.temperature, 0);
}

TEST(minimd_file, what_cannot_be_used_is_named_with_its_line) {
  EXPECT_THAT(refusal("lj  ", "real "), HasSubstr("in:3: units 'real' cannot be used: lj or metal is expected"));
  EXPECT_THAT(refusal("none           data file (none or filename)       ", " "),
              HasSubstr("in:4: data file is missing"));
  EXPECT_THAT(refusal("lj\t", "sw\t"), AllOf(HasSubstr("in:5:"), HasSubstr("'sw'"), HasSubstr("lj or eam")));
  EXPECT_THAT(refusal("0.5 ", "-0.5 "), AllOf(HasSubstr("in:6: epsilon '-0.5'"), HasSubstr("a positive number")));
  EXPECT_THAT(refusal("1.25", "nan"), HasSubstr("in:6: sigma 'nan'"));
  EXPECT_THAT(refusal("8 9 10 ", "8 0 10 "), AllOf(HasSubstr("in:7: size in y '0'"), HasSubstr("at least 1")));
  EXPECT_THAT(refusal("8 9 10 ", "8 9 "), HasSubstr("in:7: size in z 'size'"));
  EXPECT_THAT(refusal("8 9 10 ", "4000000000 4000000000 4 "), AllOf(HasSubstr("in:7: size"), HasSubstr("2^58")));
  EXPECT_THAT(refusal("\n7 ", "\n7.5 "), HasSubstr("in:8: number of steps '7.5'"));
  EXPECT_THAT(refusal("0.005", "0"), HasSubstr("in:9: time step '0'"));
  EXPECT_THAT(refusal("1.44", "-1"), AllOf(HasSubstr("in:10: initial temperature '-1'"), HasSubstr("not negative")));
  EXPECT_THAT(refusal("0.8442", "1e999"), HasSubstr("in:11: density '1e999'"));
  EXPECT_THAT(refusal("\n20 ", "\n-20 "), HasSubstr("in:12: interval of reneighbouring '-20'"));
  EXPECT_THAT(refusal("2.5 ", "x "), HasSubstr("in:13: cutoff 'x'"));
  EXPECT_THAT(refusal("0.30", "-0.3"), HasSubstr("in:13: skin '-0.3'"));
  EXPECT_THAT(refusal("\n100 ", "\n99999999999999999999 "), HasSubstr("in:14: interval of thermo '9999"));
}

TEST(minimd_file, a_file_that_ends_early_or_is_not_there_is_refused) {
  EXPECT_THAT(
      refusal("100            thermo calculation\n", ""),
      AllOf(HasSubstr("in:14: the file ends before the line of the interval of thermo"), HasSubstr("14 lines")));
  EXPECT_THAT(refusal_of([] { read(""); }), HasSubstr("in:1: the file ends"));
  EXPECT_THAT(refusal_of([] { read_minimd_file("/absent/in.lj"); }), HasSubstr("cannot read /absent/in.lj: No such"));
  EXPECT_THAT(refusal_of([] { read_minimd_file(testing::TempDir()); }), HasSubstr("irectory"));
}

}  // namespace
}  // namespace minimd_file_test
}  // namespace md
