#include "input/input_file.h"

#include "unit/minimd/written_file.h"

namespace md {
namespace input_file_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string minimd_input(const std::string& data, const std::string& force) {
  return "a\nb\nmetal units\n" + data + "\n" + force + "\n1 1\n4 4 4\n10\n0.001\n600\n0.07\n20\n4.95 1\n10\n";
}

const std::string lammps_input =
    "newton off\nread_data atoms.data\npair_style lj/cut 2.5\npair_coeff 1 1 1 1\n"
    "neigh_modify every 20 delay 0 check no\nfix 1 all nve\nrun 5\n";

TEST(input_file, the_content_says_which_format_it_is) {
  const test_folder folder;
  const input_job job = read_input_file(folder.write("in.lammps", minimd_input("none", "lj")));
  EXPECT_EQ(job.what.units, unit_system::metal);
  EXPECT_FALSE(job.newton);
  folder.write("atoms.data", "");
  const input_job other = read_input_file(folder.write("in.miniMD", lammps_input));
  EXPECT_EQ(other.what.steps, 5);
  EXPECT_EQ(other.newton, false);
}

TEST(input_file, files_are_found_beside_the_input) {
  const test_folder folder;
  const std::string data = folder.write("room/atoms.data", ""), eam = folder.write("room/Cu_u6.eam", "");
  const problem p = read_input_file(folder.write("room/in", minimd_input("atoms.data", "eam"))).what;
  EXPECT_EQ(p.data_file, data);
  EXPECT_EQ(p.eam_file, eam);
  EXPECT_EQ(read_input_file(folder.write("room/lammps", lammps_input)).what.data_file, data);
  EXPECT_EQ(read_input_file(folder.write("in", minimd_input(data, "lj"))).what.data_file, data) << "as given";
}

TEST(input_file, missing_files_are_refused_with_both_places) {
  const test_folder folder;
  const auto refusal = [&](const std::string& text) {
    return refusal_of([&] { read_input_file(folder.write("in", text)); });
  };
  EXPECT_THAT(refusal(minimd_input("some.data", "lj")),
              AllOf(HasSubstr("no file some.data, nor " + folder.path("some.data")), HasSubstr("--data_file")));
  EXPECT_THAT(refusal(minimd_input("none", "eam")),
              AllOf(HasSubstr("no file Cu_u6.eam, nor " + folder.path("Cu_u6.eam")), HasSubstr("--eam")));
  EXPECT_THAT(refusal(lammps_input), HasSubstr("atoms.data"));
  EXPECT_THAT(refusal_of([] { read_input_file("/absent/in"); }), HasSubstr("cannot read /absent/in"));
}

TEST(input_file, other_files_can_take_their_place) {
  const test_folder folder;
  const problem p =
      read_input_file(folder.write("in", minimd_input("some.data", "eam")), {"mine.data", "mine.eam"}).what;
  EXPECT_EQ(p.data_file, "mine.data");
  EXPECT_EQ(p.eam_file, "mine.eam");
}

}  // namespace
}  // namespace input_file_test
}  // namespace md
