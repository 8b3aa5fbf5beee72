#include "input/lammps_data.h"

#include <fmt/format.h>

#include "unit/minimd/written_file.h"

namespace md {
namespace lammps_data_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string head =
    "LAMMPS data file 3 atoms\n"
    "\n"
    "3 atoms  # three\n"
    "2 atom types\n"
    "\n"
    "-1.5 4.0 xlo xhi\n"
    "0 5.0e0 ylo yhi\n"
    "0 6 zlo zhi\n"
    "\n";
const std::string masses = "Masses\n\n1 63.5 # Cu\n2 63.5\n\n";
const std::string atoms = "Atoms # atomic\n\n3 1 0.5 1 1.5\n\n1 2 -1 2 3 # moved\n2 1 7 8 9\n\n";
const std::string velocities = "Velocities\n\n1 1 0 0\n2 2 0 0\n3 3 0 -0.5\n";

initial_atoms read(const std::string& text) {
  const test_folder folder;
  return read_lammps_data(folder.write("d", text));
}

std::string refusal(const std::string& old, const std::string& replacement) {
  return refusal_of([&] { read(with(head + masses + atoms + velocities, old, replacement)); });
}

void expect_example(const initial_atoms& a) {
  EXPECT_EQ(a.box_lo, (vector3{-1.5, 0, 0}));
  EXPECT_EQ(a.box_hi, (vector3{4, 5, 6}));
  EXPECT_EQ(a.mass, 63.5);
  EXPECT_THAT(a.ids, ElementsAre(3, 1, 2));
  EXPECT_THAT(a.positions, ElementsAre(vector3{0.5, 1, 1.5}, vector3{-1, 2, 3}, vector3{7, 8, 9}));
  EXPECT_THAT(a.velocities, ElementsAre(vector3{3, 0, -0.5}, vector3{1, 0, 0}, vector3{2, 0, 0}));
}

TEST(lammps_data, sections_come_in_any_order) {
  expect_example(read(head + masses + atoms + velocities));
  expect_example(read(head + velocities + "\n" + atoms + masses));
}

TEST(lammps_data, masses_and_velocities_may_be_missing) {
  const initial_atoms a = read(head + atoms);
  EXPECT_EQ(a.mass, 0);
  EXPECT_THAT(a.velocities, IsEmpty());
  EXPECT_EQ(a.ids.size(), 3u);
}

TEST(lammps_data, what_is_nothing_may_be_in_the_head_and_images_behind_atoms) {
  expect_example(read(with(head, "2 atom types\n", "2 atom types\n0 bonds\n0 bond types\n0 0 0 xy xz yz\n") + masses +
                      with(atoms, "7 8 9", "7 8 9 0 -1 2") + velocities));
}

TEST(lammps_data, many_atoms_round_trip) {
  constexpr int count = 20'000;
  std::string text =
      fmt::format("many\n{} atoms\n1 atom types\n0 1 xlo xhi\n0 1 ylo yhi\n0 1 zlo zhi\nAtoms\n\n", count);
  for (int i = 0; i < count; ++i)
    text += fmt::format("{} 1 {} {} {}\n", count - i, 1.0 / (i + 1), -i / 7.0, i * 1e-300);
  const initial_atoms a = read(text);
  ASSERT_EQ(a.ids.size(), std::size_t{count});
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ASSERT_EQ(a.ids[at], count - i);
    ASSERT_EQ(a.positions[at], (vector3{1.0 / (i + 1), -i / 7.0, i * 1e-300}));
  }
}

TEST(lammps_data, the_head_is_checked) {
  EXPECT_THAT(refusal("3 atoms ", "0 atoms "), AllOf(HasSubstr("d:3: number of atoms '0'"), HasSubstr("at least 1")));
  EXPECT_THAT(refusal("3 atoms ", "99999999999 atoms "), HasSubstr("promises 99999999999 atoms"));
  EXPECT_THAT(refusal("3 atoms  # three\n", ""), HasSubstr("no line with 'atoms'"));
  EXPECT_THAT(refusal("2 atom types\n", "2 atom types\n2 atom types\n"), HasSubstr("d:5: 'atom types' is given twice"));
  EXPECT_THAT(refusal("2 atom types\n", "2 atom types\n7 bonds\n"),
              AllOf(HasSubstr("d:5: 'bonds' is 7"), HasSubstr("0")));
  EXPECT_THAT(refusal("2 atom types\n", "2 atom types\n7 moons\n"),
              AllOf(HasSubstr("'moons'"), HasSubstr("are known")));
  EXPECT_THAT(refusal("-1.5 4.0", "4.0 4.0"),
              AllOf(HasSubstr("d:6: the box from 4.0 to 4.0"), HasSubstr("larger 'xhi'")));
  EXPECT_THAT(refusal("0 5.0e0 ylo", "0 ylo"), HasSubstr("d:7: 1 values before 'ylo yhi'"));
  EXPECT_THAT(refusal("0 6 zlo zhi\n", "0 6 zlo zhi\n1 0 0 xy xz yz\n"), HasSubstr("orthogonal box"));
}

TEST(lammps_data, sections_are_checked) {
  EXPECT_THAT(refusal("Masses", "Bonds"), AllOf(HasSubstr("d:10: section 'Bonds'"), HasSubstr("Masses, Atoms or Vel")));
  EXPECT_THAT(refusal("2 63.5", "2 64"), AllOf(HasSubstr("d:13: mass 64"), HasSubstr("the same mass")));
  EXPECT_THAT(refusal("2 63.5", "1 63.5"), HasSubstr("d:13: type 1 has two masses"));
  EXPECT_THAT(refusal("2 63.5\n", ""), HasSubstr("the section Masses ends after 1 lines: 2 are expected"));
  EXPECT_THAT(refusal("# atomic", "# full"), AllOf(HasSubstr("d:15: atom style 'full'"), HasSubstr("atomic is")));
  EXPECT_THAT(refusal(velocities, atoms), HasSubstr("section Atoms is there twice"));
  EXPECT_THAT(refusal_of([] { read(head + masses); }), HasSubstr("there is no section Atoms"));
  EXPECT_THAT(refusal_of([] { read(head + with(atoms, "2 1 7 8 9\n", "")); }),
              HasSubstr("the section Atoms ends after 2 lines: 3 are expected"));
}

TEST(lammps_data, atoms_are_checked) {
  EXPECT_THAT(refusal("2 1 7 8 9", "1 1 7 8 9"), AllOf(HasSubstr("d:20: atom id 1 is there twice"), HasSubstr("once")));
  EXPECT_THAT(refusal("2 1 7 8 9", "4 1 7 8 9"), AllOf(HasSubstr("d:20: atom id '4'"), HasSubstr("from 1 to 3")));
  EXPECT_THAT(refusal("2 1 7 8 9", "2 3 7 8 9"), AllOf(HasSubstr("d:20: atom type '3'"), HasSubstr("from 1 to 2")));
  EXPECT_THAT(refusal("2 1 7 8 9", "2 1 7 8"), HasSubstr("d:20: z is missing"));
  EXPECT_THAT(refusal("2 1 7 8 9", "2 1 7 nan 9"), HasSubstr("d:20: y 'nan'"));
  EXPECT_THAT(refusal("2 1 7 8 9", "2 1 7 8 9 0"), HasSubstr("d:20: image flag is missing"));
  EXPECT_THAT(refusal("2 1 7 8 9", "2 1 7 8 9 0 0 0.5"), HasSubstr("d:20: image flag '0.5'"));
  EXPECT_THAT(refusal("2 1 7 8 9", "2 1 7 8 9 0 0 0 5"), HasSubstr("d:20: '5' is too much"));
}

TEST(lammps_data, velocities_are_checked) {
  EXPECT_THAT(refusal("2 2 0 0", "1 2 0 0"), HasSubstr("d:25: atom id 1 is there twice"));
  EXPECT_THAT(refusal("2 2 0 0", "9 2 0 0"), HasSubstr("d:25: atom id '9'"));
  EXPECT_THAT(refusal("2 2 0 0", "2 2 0"), HasSubstr("d:25: vz is missing"));
  EXPECT_THAT(refusal("2 2 0 0", "2 2 0 0 1"), HasSubstr("d:25: '1' is too much"));
  EXPECT_THAT(refusal("3 3 0 -0.5\n", ""), HasSubstr("the section Velocities ends after 2 lines"));
}

}  // namespace
}  // namespace lammps_data_test
}  // namespace md
