#include "output/dump.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"
#include "sample_facts.h"

namespace md {
namespace dump_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const vector3 box{5.0 / 3, 10, 1e2 / 7};

/// Atoms with ids from 1 whose numbers need all their digits; some are as awkward as doubles can be.
std::vector<dump_atom> some_atoms(int count) {
  std::vector<dump_atom> atoms;
  for (int i = 1; i <= count; ++i)
    atoms.push_back({i, 1 + i % 2, {i / 7.0, 1e-300 * i, 5e-324}, {-0.0, std::sqrt(i), -1.7976931348623157e308}});
  return atoms;
}

bool same_bits(const vector3& a, const vector3& b) { return std::memcmp(&a, &b, sizeof(a)) == 0; }

void expect_same(const std::vector<dump_atom>& got, const std::vector<dump_atom>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].id, wanted[i].id);
    EXPECT_EQ(got[i].type, wanted[i].type);
    EXPECT_TRUE(same_bits(got[i].x, wanted[i].x)) << "position of atom " << got[i].id;
    EXPECT_TRUE(same_bits(got[i].v, wanted[i].v)) << "velocity of atom " << got[i].id;
  }
}

/// Gives the atoms from the last to the first, in two calls.
void write_frame(dump_writer& to, std::int64_t step, std::vector<dump_atom> atoms) {
  std::ranges::reverse(atoms);
  const std::span<const dump_atom> all(atoms);
  to.begin_frame(step, std::ssize(atoms), box);
  to.atoms(all.first(atoms.size() / 3));
  to.atoms(all.subspan(atoms.size() / 3));
  to.end_frame();
}

double read_number(std::istream& in) {
  std::string word;
  in >> word;
  return std::strtod(word.c_str(), nullptr);
}

vector3 read_vector(std::istream& in) {
  vector3 v;
  for (double& x : v) x = read_number(in);
  return v;
}

std::string read_line(std::istream& in) {
  std::string line;
  std::getline(in, line);
  return line;
}

class dump : public testing::Test {
 protected:
  /// One frame after step 50 and one, of fewer atoms, after step 100.
  void write_two_frames(const std::string& name) const {
    const std::unique_ptr<dump_writer> writer = open_dump(folder_.file(name));
    write_frame(*writer, 50, some_atoms(10));
    write_frame(*writer, 100, some_atoms(3));
  }
  template <class error>
  static std::string refusal(const std::string& path) {
    try {
      open_dump(path);
    } catch (const error& e) {
      return e.what();
    }
    return "accepted";
  }
  output_folder folder_;
};

TEST_F(dump, xyz_reads_back) {
  write_two_frames("run.xyz");
  std::istringstream in(folder_.text("run.xyz"));
  for (auto [step, count] : {std::pair{50, 10}, {100, 3}}) {
    EXPECT_EQ(read_line(in), std::to_string(count));
    std::istringstream head(read_line(in));
    const std::string text = head.str();
    EXPECT_THAT(text, AllOf(HasSubstr("Properties=species:S:1:pos:R:3:velo:R:3:id:I:1"), HasSubstr("pbc=\"T T T\""),
                            HasSubstr("Timestep=" + std::to_string(step) + " ")));
    head.seekg(static_cast<std::streamoff>(std::string("Lattice=\"").size()));
    for (std::size_t i = 0; i < 9; ++i) EXPECT_EQ(read_number(head), i % 4 == 0 ? box[i / 4] : 0);
    std::vector<dump_atom> atoms(static_cast<std::size_t>(count));
    for (dump_atom& a : atoms) {
      in >> a.type;
      a.x = read_vector(in);
      a.v = read_vector(in);
      in >> a.id;
    }
    expect_same(atoms, some_atoms(count));
    EXPECT_EQ(read_line(in), "");
  }
  EXPECT_EQ(in.peek(), EOF);
}

TEST_F(dump, lammpstrj_reads_back) {
  write_two_frames("run.lammpstrj");
  std::istringstream in(folder_.text("run.lammpstrj"));
  for (auto [step, count] : {std::pair{50, 10}, {100, 3}}) {
    EXPECT_EQ(read_line(in), "ITEM: TIMESTEP");
    EXPECT_EQ(read_line(in), std::to_string(step));
    EXPECT_EQ(read_line(in), "ITEM: NUMBER OF ATOMS");
    EXPECT_EQ(read_line(in), std::to_string(count));
    EXPECT_EQ(read_line(in), "ITEM: BOX BOUNDS pp pp pp");
    for (const double length : box) {
      std::istringstream bounds(read_line(in));
      EXPECT_EQ(read_number(bounds), 0);
      EXPECT_EQ(read_number(bounds), length);
    }
    EXPECT_EQ(read_line(in), "ITEM: ATOMS id type x y z vx vy vz");
    std::vector<dump_atom> atoms(static_cast<std::size_t>(count));
    for (dump_atom& a : atoms) {
      in >> a.id >> a.type;
      a.x = read_vector(in);
      a.v = read_vector(in);
    }
    expect_same(atoms, some_atoms(count));
    EXPECT_EQ(read_line(in), "");
  }
  EXPECT_EQ(in.peek(), EOF);
}

/// The arrays of a .vtu file by name.
class vtu_file {
 public:
  explicit vtu_file(std::string bytes) : bytes_(std::move(bytes)) {}

  std::string attribute(const std::string& tag_part, const std::string& name) const {
    const std::size_t tag = bytes_.find(tag_part);
    const std::size_t first = bytes_.find(name + "=\"", tag) + name.size() + 2;
    return bytes_.substr(first, bytes_.find('"', first) - first);
  }

  template <class value>
  std::vector<value> array(const std::string& name, const std::string& type) const {
    const std::string tag = "<DataArray type=\"" + type + "\" Name=\"" + name + "\"";
    EXPECT_NE(bytes_.find(tag), std::string::npos) << name;
    const std::string marker = "<AppendedData encoding=\"raw\">\n_";
    const std::size_t at = bytes_.find(marker) + marker.size() + std::stoull(attribute(tag, "offset"));
    std::uint64_t length = 0;
    std::memcpy(&length, bytes_.data() + at, sizeof(length));
    std::vector<value> values(length / sizeof(value));
    EXPECT_LE(at + sizeof(length) + length, bytes_.size());
    if (length > 0) std::memcpy(values.data(), bytes_.data() + at + sizeof(length), length);
    return values;
  }

  std::vector<dump_atom> atoms() const {
    const auto ids = array<std::int64_t>("id", "Int64");
    const auto types = array<std::int32_t>("type", "Int32");
    const auto positions = array<vector3>("positions", "Float64");
    const auto velocities = array<vector3>("velocity", "Float64");
    EXPECT_THAT((std::vector{ids.size(), types.size(), positions.size()}), testing::Each(velocities.size()));
    std::vector<dump_atom> all;
    for (std::size_t i = 0; i < ids.size(); ++i) all.push_back({ids[i], types[i], positions[i], velocities[i]});
    return all;
  }

 private:
  std::string bytes_;
};

TEST_F(dump, vtu_reads_back) {
  write_two_frames("run.vtu");
  const std::string bytes = folder_.text("run_50.vtu");
  EXPECT_TRUE(bytes.ends_with("\n</AppendedData>\n</VTKFile>\n"));
  const vtu_file frame(bytes);
  EXPECT_EQ(frame.attribute("<VTKFile", "type"), "UnstructuredGrid");
  EXPECT_EQ(frame.attribute("<VTKFile", "byte_order"), "LittleEndian");
  EXPECT_EQ(frame.attribute("<VTKFile", "header_type"), "UInt64");
  EXPECT_EQ(frame.attribute("<Piece", "NumberOfPoints"), "10");
  EXPECT_EQ(frame.attribute("Name=\"positions\"", "NumberOfComponents"), "3");
  EXPECT_EQ(frame.attribute("Name=\"velocity\"", "NumberOfComponents"), "3");
  expect_same(frame.atoms(), some_atoms(10));
  expect_same(vtu_file(folder_.text("run_100.vtu")).atoms(), some_atoms(3));
}

TEST_F(dump, each_atom_of_a_vtu_file_is_a_vertex) {
  write_two_frames("run.vtu");
  const vtu_file frame(folder_.text("run_100.vtu"));
  EXPECT_EQ(frame.attribute("<Piece", "NumberOfCells"), "3");
  EXPECT_THAT(frame.array<std::int64_t>("connectivity", "Int64"), ElementsAre(0, 1, 2));
  EXPECT_THAT(frame.array<std::int64_t>("offsets", "Int64"), ElementsAre(1, 2, 3));
  EXPECT_THAT(frame.array<std::uint8_t>("types", "UInt8"), ElementsAre(1, 1, 1));
}

TEST_F(dump, the_pvd_file_lists_the_frames_so_far) {
  const std::unique_ptr<dump_writer> writer = open_dump(folder_.file("a&b.vtu"));
  EXPECT_EQ(folder_.text("a&b.pvd").find("<DataSet"), std::string::npos);
  write_frame(*writer, 0, some_atoms(2));
  write_frame(*writer, 20, some_atoms(2));
  write_frame(*writer, 20, some_atoms(2));
  EXPECT_THAT(folder_.text("a&b.pvd"),
              HasSubstr("<Collection>\n<DataSet timestep=\"0\" part=\"0\" file=\"a&amp;b_0.vtu\"/>\n"
                        "<DataSet timestep=\"20\" part=\"0\" file=\"a&amp;b_20.vtu\"/>\n</Collection>"));
  EXPECT_TRUE(folder_.has("a&b_20.vtu"));
}

TEST_F(dump, a_frame_is_in_the_file_when_it_has_ended) {
  const std::unique_ptr<dump_writer> writer = open_dump(folder_.file("run.lammpstrj"));
  write_frame(*writer, 0, some_atoms(1));
  EXPECT_THAT(folder_.text("run.lammpstrj"), testing::StartsWith("ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n1\n"));
}

// As after a restart: what was written after the checkpoint is written again.
TEST_F(dump, goes_on_where_it_was) {
  for (const std::string suffix : {".xyz", ".lammpstrj", ".vtu"}) {
    dump_place place;
    {
      const std::unique_ptr<dump_writer> writer = open_dump(folder_.file("whole" + suffix));
      for (const std::int64_t step : {0, 20, 40}) write_frame(*writer, step, some_atoms(2));
    }
    {
      const std::unique_ptr<dump_writer> writer = open_dump(folder_.file("run" + suffix));
      write_frame(*writer, 0, some_atoms(2));
      place = writer->place();
      write_frame(*writer, 20, some_atoms(3));
      write_frame(*writer, 30, some_atoms(3));
    }
    {
      const std::unique_ptr<dump_writer> writer = continue_dump(folder_.file("run" + suffix), place);
      for (const std::int64_t step : {20, 40}) write_frame(*writer, step, some_atoms(2));
    }
    if (suffix != ".vtu") {
      EXPECT_EQ(folder_.text("run" + suffix), folder_.text("whole" + suffix));
      continue;
    }
    for (const char* frame : {"_0.vtu", "_20.vtu", "_40.vtu"})
      EXPECT_EQ(folder_.text(std::string("run") + frame), folder_.text(std::string("whole") + frame));
    EXPECT_EQ(folder_.text("run.pvd").find("run_30.vtu"), std::string::npos);
    EXPECT_THAT(folder_.text("run.pvd"),
                AllOf(HasSubstr("run_0.vtu"), HasSubstr("run_20.vtu"), HasSubstr("run_40.vtu")));
  }
}

TEST_F(dump, frames_that_are_gone_are_an_error_that_names_the_file) {
  for (const std::string suffix : {".xyz", ".lammpstrj", ".vtu"}) {
    dump_place place;
    {
      const std::unique_ptr<dump_writer> writer = open_dump(folder_.file("short" + suffix));
      write_frame(*writer, 0, some_atoms(2));
      place = writer->place();
    }
    const bool is_one_file = suffix != ".vtu";
    const std::string lost = is_one_file ? "short" + suffix : "short_0.vtu";
    if (is_one_file)
      std::filesystem::resize_file(folder_.file(lost), static_cast<std::uintmax_t>(place.bytes) - 1);
    else
      std::filesystem::remove(folder_.file(lost));
    try {
      continue_dump(folder_.file("short" + suffix), place);
      ADD_FAILURE() << suffix;
    } catch (const imbrex::config_error& e) {
      EXPECT_THAT(e.what(), AllOf(HasSubstr(lost), HasSubstr("start anew")));
    }
  }
}

TEST_F(dump, a_frame_may_have_no_atoms) {
  for (const char* suffix : {".xyz", ".lammpstrj", ".vtu"})
    EXPECT_NO_THROW(write_frame(*open_dump(folder_.file(std::string("run") + suffix)), 0, {})) << suffix;
  EXPECT_TRUE(vtu_file(folder_.text("run_0.vtu")).atoms().empty());
}

TEST_F(dump, a_lost_or_doubled_atom_is_an_error) {
  const std::unique_ptr<dump_writer> writer = open_dump(folder_.file("run.xyz"));
  const std::vector<dump_atom> three = some_atoms(3);
  writer->begin_frame(7, 4, box);
  writer->atoms(three);
  EXPECT_THROW(writer->end_frame(), imbrex::error);
  writer->begin_frame(7, 6, box);
  writer->atoms(three);
  writer->atoms(three);
  EXPECT_THROW(writer->end_frame(), imbrex::error);
  write_frame(*writer, 7, three);
  EXPECT_THAT(folder_.text("run.xyz"), testing::StartsWith("3\n"));
}

TEST_F(dump, an_unknown_suffix_is_refused_with_the_known_ones) {
  for (const char* name : {"run.pdb", "run", "run.xyz.gz"})
    EXPECT_THAT(refusal<imbrex::usage_error>(folder_.file(name)),
                AllOf(HasSubstr(name), HasSubstr(".xyz"), HasSubstr(".lammpstrj"), HasSubstr(".vtu")));
  EXPECT_THAT(refusal<imbrex::usage_error>(folder_.file("run.pdb")), HasSubstr("\".pdb\""));
  EXPECT_THROW(check_dump_suffix("run.pdb"), imbrex::usage_error);
  EXPECT_NO_THROW(check_dump_suffix("none/run.vtu"));
}

TEST_F(dump, an_unwritable_path_is_refused_at_once) {
  for (const char* name : {"none/run.xyz", "none/run.lammpstrj"})
    EXPECT_THAT(refusal<imbrex::config_error>(folder_.file(name)),
                AllOf(HasSubstr("cannot write"), HasSubstr("none/run."), HasSubstr("No such file")));
  EXPECT_THAT(refusal<imbrex::usage_error>(folder_.file("none/run.vtu")),
              AllOf(HasSubstr("cannot write"), HasSubstr("none/run."), HasSubstr("No such file")));
}

TEST_F(dump, a_full_disk_is_an_error_at_the_end_of_the_frame) {
  for (const char* name : {"run.xyz", "run.lammpstrj"}) {
    const std::unique_ptr<dump_writer> writer = open_dump(folder_.full_file(name));
    EXPECT_THROW(write_frame(*writer, 0, some_atoms(2)), imbrex::error) << name;
  }
  const std::unique_ptr<dump_writer> writer = open_dump(folder_.file("run.vtu"));
  {
    const file_size_limit limit(8);
    EXPECT_THROW(write_frame(*writer, 0, some_atoms(2)), imbrex::error);
  }
  EXPECT_EQ(folder_.num_files(), 3) << "two dumps, and a list";
  EXPECT_FALSE(folder_.has("run_0.vtu"));
}

}  // namespace
}  // namespace dump_test
}  // namespace md
