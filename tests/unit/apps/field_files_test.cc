#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "field/block_field.h"
#include "field/field_output.h"
#include "field/initial_state.h"
#include "field/npy.h"
#include "imbrex/base/error.h"

namespace jacobi {
namespace field_files_test {
namespace {

namespace fs = std::filesystem;

class field_files : public testing::Test {
 protected:
  field_files() : folder_(fs::temp_directory_path() / ("jacobi_files_" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
  }
  ~field_files() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Writes the bytes as numpy would: magic, version, length, dictionary, data.
  std::string write_npy(const std::string& dictionary, std::size_t num_doubles, int version = 1) {
    std::string bytes("\x93NUMPY", 6);
    bytes += static_cast<char>(version);
    bytes += '\0';
    const auto length = static_cast<std::uint32_t>(dictionary.size());
    bytes.append(reinterpret_cast<const char*>(&length), version == 1 ? 2 : 4);
    bytes += dictionary;
    for (std::size_t i = 0; i < num_doubles; ++i) {
      const double value = static_cast<double>(i) + 0.5;
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    return write(bytes);
  }

  std::string write(const std::string& bytes) {
    const std::string file = path("given.npy");
    std::ofstream(file, std::ios::binary) << bytes;
    return file;
  }

  static std::string read(const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    return text.str();
  }

  static std::string refusal(const std::string& file) {
    try {
      npy_reader reader(file);
    } catch (const imbrex::usage_error& e) {
      return e.what();
    }
    return "accepted";
  }

  /// Each block writes its part of a random field.
  static void write_blocks(const field_output& output, const decomposition& blocks) {
    for (std::int64_t n = blocks.num_blocks() - 1; n >= 0; --n) {
      const box cells = blocks.cells(blocks.position(n));
      block_field field(cells.size, 0);
      set_initial_state(field, blocks.grid(), cells, {initial_kind::random, 3, ""}, {});
      output.write(blocks.position(n), field.current(), field.pitch());
    }
  }

  static std::vector<double> whole_field(extents grid) {
    std::vector<double> field(static_cast<std::size_t>(grid.cells()));
    write_initial_state(field.data(), grid.nx, grid, {0, 0, 0, grid}, {initial_kind::random, 3, ""}, {});
    return field;
  }

  fs::path folder_;
};

TEST_F(field_files, npy_reads_a_box_of_what_numpy_wrote) {
  for (int version : {1, 2, 3}) {
    const std::string file =
        write_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 5), }      \n", 30, version);
    const npy_reader reader(file);
    EXPECT_EQ(reader.grid(), (extents{5, 3, 2}));
    std::vector<double> rows(2 * 8);
    reader.read_box({1, 1, 1, {3, 2, 1}}, rows.data(), 8);
    EXPECT_EQ(rows[0], 15 + 5 + 1 + 0.5);
    EXPECT_EQ(rows[8 + 2], 15 + 10 + 3 + 0.5);
    EXPECT_EQ(rows[3], 0.0);
  }
}

TEST_F(field_files, npy_that_cannot_be_used_is_refused_with_the_reason) {
  const std::string good = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3, 5), }\n";
  EXPECT_EQ(refusal(write_npy(good, 30)), "accepted");
  EXPECT_THAT(refusal(write_npy(good, 29)), testing::HasSubstr("cut short"));
  EXPECT_THAT(refusal(write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, 5), }\n", 30)),
              testing::HasSubstr("type '<f4'"));
  EXPECT_THAT(refusal(write_npy("{'descr': '>f8', 'fortran_order': False, 'shape': (2, 3, 5), }\n", 30)),
              testing::HasSubstr("type '>f8'"));
  EXPECT_THAT(refusal(write_npy("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3, 5), }\n", 30)),
              testing::HasSubstr("Fortran order"));
  EXPECT_THAT(refusal(write_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (6, 5), }\n", 30)),
              testing::HasSubstr("shape (6, 5)"));
  EXPECT_THAT(refusal(write_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (), }\n", 1)),
              testing::HasSubstr("shape ()"));
  EXPECT_THAT(refusal(write_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 0, 5), }\n", 30)),
              testing::HasSubstr("shape (2, 0, 5)"));
  EXPECT_THAT(
      refusal(write_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296, 5), }\n", 30)),
      testing::HasSubstr("shape"));
  EXPECT_THAT(refusal(write_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2, x, 5), }\n", 30)),
              testing::HasSubstr("unreadable shape"));
  EXPECT_THAT(refusal(write_npy("{'fortran_order': False}\n", 30)), testing::HasSubstr("without 'descr'"));
  EXPECT_THAT(refusal(write_npy(good, 30, 9)), testing::HasSubstr("version 9"));
  EXPECT_THAT(refusal(write("x,y\n1,2\n3,4\n")), testing::HasSubstr("no .npy file"));
  EXPECT_THAT(refusal(write("")), testing::HasSubstr("no .npy file"));
  EXPECT_THAT(refusal(write(std::string("\x93NUMPY\x01\x00\xff\xff{'de", 14))), testing::HasSubstr("ends inside"));
  EXPECT_THAT(refusal(path("absent.npy")), testing::HasSubstr("cannot read"));
}

TEST_F(field_files, npy_written_in_blocks_reads_back_whole) {
  const extents grid{11, 7, 5};
  for (auto [cx, cy, cz] : {std::tuple{1, 1, 1}, {1, 2, 3}, {3, 2, 2}, {11, 7, 5}}) {
    const decomposition blocks(grid, cx, cy, cz);
    const auto output = make_field_output(path("field.npy"), blocks);
    output->create();
    write_blocks(*output, blocks);
    output->commit();
    const npy_reader reader(path("field.npy"));
    ASSERT_EQ(reader.grid(), grid);
    std::vector<double> got(static_cast<std::size_t>(grid.cells()));
    reader.read_box({0, 0, 0, grid}, got.data(), grid.nx);
    EXPECT_EQ(got, whole_field(grid));
    EXPECT_EQ(fs::file_size(path("field.npy")), 128 + 8 * got.size());
    EXPECT_FALSE(fs::exists(path("field.npy.part")));
  }
}

TEST_F(field_files, npy_header_is_numpys) {
  // What numpy.save writes for shape (4, 5, 6), except that numpy may reserve more blanks.
  const std::string header = npy_header({6, 5, 4});
  EXPECT_EQ(header.size() % 64, 0u);
  EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(static_cast<unsigned char>(header[8]) + 256 * static_cast<unsigned char>(header[9]), header.size() - 10);
  EXPECT_THAT(header.substr(10), testing::StartsWith("{'descr': '<f8', 'fortran_order': False, 'shape': (4, 5, 6), }"));
  EXPECT_EQ(header.back(), '\n');
}

TEST_F(field_files, vti_holds_the_field_between_header_and_trailer) {
  const extents grid{4, 3, 2};
  const decomposition blocks(grid, 2, 3, 1);
  const auto output = make_field_output(path("field.vti"), blocks);
  output->create();
  write_blocks(*output, blocks);
  output->commit();
  const std::string bytes = read(path("field.vti"));
  EXPECT_THAT(bytes, testing::HasSubstr("WholeExtent=\"0 4 0 3 0 2\""));
  const std::size_t data = bytes.find("\n_") + 2;
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data() + data, sizeof(length));
  const std::vector<double> expected = whole_field(grid);
  ASSERT_EQ(length, expected.size() * sizeof(double));
  EXPECT_EQ(std::memcmp(bytes.data() + data + 8, expected.data(), length), 0);
  EXPECT_EQ(bytes.substr(data + 8 + length), "\n</AppendedData>\n</VTKFile>\n");
}

TEST_F(field_files, pvti_names_a_piece_for_each_block) {
  const decomposition blocks({4, 4, 4}, 1, 2, 2);
  const auto output = make_field_output(path("field.pvti"), blocks);
  output->create();
  write_blocks(*output, blocks);
  EXPECT_FALSE(fs::exists(path("field.pvti")));
  output->commit();
  const std::string index = read(path("field.pvti"));
  EXPECT_THAT(index, testing::HasSubstr("<Piece Extent=\"0 4 2 4 2 4\" Source=\"field_3.vti\"/>"));
  for (int n = 0; n < 4; ++n) EXPECT_TRUE(fs::exists(path("field_" + std::to_string(n) + ".vti")));
  EXPECT_THAT(read(path("field_3.vti")), testing::HasSubstr("Piece Extent=\"0 4 2 4 2 4\""));
}

TEST_F(field_files, abandoned_output_leaves_the_older_file) {
  const decomposition blocks({4, 4, 4}, 1, 1, 2);
  for (const char* name : {"old.npy", "old.vti", "old.pvti"}) {
    std::ofstream(path(name)) << "older";
    const auto output = make_field_output(path(name), blocks);
    output->create();
    write_blocks(*output, blocks);
    output->abandon();
    EXPECT_EQ(read(path(name)), "older");
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 3);
}

TEST_F(field_files, a_link_stays_one_and_files_of_others_are_left_alone) {
  const decomposition blocks({4, 4, 4}, 1, 1, 2);
  for (const std::string name : {"field.npy", "field.pvti"}) {
    std::ofstream(path(name + ".part")) << "mine";
    fs::create_symlink("target", path(name));
    const auto output = make_field_output(path(name), blocks, ".mine.part");
    output->create();
    write_blocks(*output, blocks);
    output->commit();
    EXPECT_EQ(read(path(name + ".part")), "mine");
    EXPECT_TRUE(fs::is_symlink(path(name)));
    EXPECT_TRUE(fs::is_regular_file(path("target")));
    fs::remove(path("target"));
  }
  ASSERT_EQ(mkfifo(path("pipe.npy").c_str(), 0600), 0);
  EXPECT_THROW(make_field_output(path("pipe.npy"), blocks)->create(), imbrex::usage_error);
  EXPECT_TRUE(fs::is_fifo(path("pipe.npy")));
}

TEST_F(field_files, unwritable_output_is_refused_before_anything_is_written) {
  const decomposition blocks({4, 4, 4}, 1, 1, 2);
  EXPECT_THROW(make_field_output(path("absent/field.npy"), blocks)->create(), imbrex::usage_error);
  fs::create_directories(path("folder.npy"));
  EXPECT_THROW(make_field_output(path("folder.npy"), blocks)->create(), imbrex::usage_error);
  EXPECT_THROW(make_field_output(path("field.csv"), blocks), imbrex::usage_error);
  const field_outputs both({path("one.npy"), path("absent/two.npy")}, blocks, ".part");
  EXPECT_THROW(both.create(), imbrex::usage_error);
  EXPECT_FALSE(fs::exists(path("one.npy.part")));
  const decomposition huge({std::int64_t{1} << 18, std::int64_t{1} << 18, std::int64_t{1} << 18}, 1, 1, 1);
  EXPECT_THROW(make_field_output(path("huge.npy"), huge)->create(), imbrex::usage_error);
  EXPECT_FALSE(fs::exists(path("huge.npy.part")));
}

}  // namespace
}  // namespace field_files_test
}  // namespace jacobi
