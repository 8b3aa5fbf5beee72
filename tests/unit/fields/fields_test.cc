#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/fields.h>
#include <imbrex/imbrex.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "imbrex/base/build_config.h"
#include "unit/fields/own_folder.h"
#include "unit/object/job.h"

#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/cuda_gpu.h"
#endif
#if IMBREX_HAVE_HDF5
#include <hdf5.h>
#endif

namespace fields_test {

// Fields that chares write to files and read from them.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using testing::HasSubstr;

constexpr ix::field_extent whole{13, 7, 5};

double value_at(std::uint64_t x, std::uint64_t y, std::uint64_t z, int step) {
  return static_cast<double>(x + 100 * y + 10'000 * z) + 0.25 * step;
}

/// One of 3 x 2 x 2 blocks of uneven sizes, with ghosts of another number along each axis.
struct block_writer : ix::chare<block_writer, ix::index3d> {
  ix::field_block block(std::array<std::uint64_t, 3> ghosts) const {
    const auto cut = [](int i, int n, std::uint64_t cells) {
      const auto at = [&](int k) { return cells * static_cast<std::uint64_t>(k) / static_cast<std::uint64_t>(n); };
      return std::pair(at(i), at(i + 1) - at(i));
    };
    const auto [x, nx] = cut(index().x, extent().x, whole.nx);
    const auto [y, ny] = cut(index().y, extent().y, whole.ny);
    const auto [z, nz] = cut(index().z, extent().z, whole.nz);
    return {x, y, z, {nx, ny, nz}, ghosts};
  }
  template <class T>
  static std::vector<T> filled(const ix::field_block& b, int step) {
    std::vector<T> values(b.padded().volume(), T(-1));
    for (std::uint64_t k = 0; k < b.cells.nz; ++k) {
      for (std::uint64_t j = 0; j < b.cells.ny; ++j) {
        for (std::uint64_t i = 0; i < b.cells.nx; ++i) {
          values[((k + b.ghosts[2]) * b.padded().ny + j + b.ghosts[1]) * b.padded().nx + i + b.ghosts[0]] =
              static_cast<T>(value_at(b.x + i, b.y + j, b.z + k, step));
        }
      }
    }
    return values;
  }

  ix::task<> run(std::string file, int steps) {
    for (int step = 0; step < steps; ++step) {
      const ix::field_block b = block({1, 2, 0});
      const std::vector<double> temperature = filled<double>(b, step);
      auto written = ix::write_field(*this, file, "fluid/temperature", std::span(temperature), b, whole);
      co_await written;
      const ix::field_block plain = block({});
      std::vector<std::int32_t> owner = filled<std::int32_t>(plain, 0);
      auto also = ix::write_field(*this, file, "owner", std::span(owner), plain, whole);
      co_await also;
      if (step + 1 < steps) migrate_to((pe() + 1) % num_pes());
    }
    // What others wrote, too, and with other ghosts.
    const ix::field_block around{0, 0, block({}).z, {whole.nx, whole.ny, block({}).cells.nz}, {0, 0, 1}};
    std::vector<float> layer(around.padded().volume(), -1.0F);
    auto read = ix::read_field<float>(file, "fluid/temperature", layer, around);
    co_await read;
    contribute(layer == filled<float>(around, steps - 1) ? 0 : 1, ix::sum);
  }

  template <class Archive>
  void serialize(Archive&) {}
};

ix::task<int> writes_and_reads(ix::runtime& rt, std::string file) {
  auto blocks = rt.create_array<block_writer>(ix::index3d(3, 2, 2));
  blocks.broadcast<&block_writer::run>(file, 3);
  const int wrong = co_await blocks.reduction<int>();
  auto asked = ix::extent_of_field(file, "owner");
  if (co_await asked != whole) co_return 6;
  co_return wrong == 0 ? 0 : 5;
}

#if IMBREX_HAVE_HDF5

/// By HDF5 alone, from another folder than the one in which the file was written.
template <class T>
std::vector<T> as_others_read_it(const std::string& file, const char* name, hid_t type) {
  std::vector<T> values(whole.volume());
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  const hid_t d = H5Dopen2(f, name, H5P_DEFAULT);
  const hid_t s = H5Dget_space(d);
  std::array<hsize_t, 3> extent{};
  EXPECT_EQ(H5Sget_simple_extent_ndims(s), 3);
  H5Sget_simple_extent_dims(s, extent.data(), nullptr);
  EXPECT_EQ(extent, (std::array<hsize_t, 3>{whole.nz, whole.ny, whole.nx}));
  EXPECT_GE(H5Dread(d, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  H5Sclose(s);
  H5Dclose(d);
  H5Fclose(f);
  return values;
}

TEST(fields, are_whole_in_a_file_that_others_read) {
  for (const job_shape& s : all_shapes()) {
    SCOPED_TRACE(to_text(s));
    const own_folder at;
    const std::string file = at.file("deep/er/out.h5");
    ASSERT_EQ(run_job_with(s, writes_and_reads, file), 0);
    const ix::field_block all{0, 0, 0, whole, {}};
    EXPECT_EQ(as_others_read_it<double>(file, "/fluid/temperature", H5T_NATIVE_DOUBLE),
              block_writer::filled<double>(all, 2));
    EXPECT_EQ(as_others_read_it<std::int32_t>(file, "/owner", H5T_NATIVE_INT32),
              block_writer::filled<std::int32_t>(all, 0));
  }
}

TEST(fields, can_be_taken_elsewhere_with_their_parts) {
  const own_folder at;
  ASSERT_EQ(run_job_with({2, 2}, writes_and_reads, at.file("here/out.h5")), 0);
  std::filesystem::rename(at.file("here"), at.file("there"));
  EXPECT_EQ(as_others_read_it<std::int32_t>(at.file("there/out.h5"), "/owner", H5T_NATIVE_INT32),
            block_writer::filled<std::int32_t>({0, 0, 0, whole, {}}, 0));
}

/// Writes a line of cells that its stream fills, on whatever device it has.
struct buffer_writer : ix::chare<buffer_writer, ix::index1d> {
  static constexpr std::uint64_t cells = 4000;
  static std::uint8_t byte_of(int i) { return static_cast<std::uint8_t>(3 + 7 * i); }
  ix::task<> run(std::string file) {
    const ix::field_block b{static_cast<std::uint64_t>(index().x) * cells, 0, 0, {cells}, {1, 0, 0}};
    ix::buffer<std::uint32_t> values(on_device(), b.padded().volume());
    const ix::field_extent all{static_cast<std::uint64_t>(extent().x) * cells};
    for (int k = 0; k < 20; ++k)
      streams().compute.fill(values.data(), byte_of(index() + 19 - k), values.size() * sizeof(std::uint32_t));
    auto written = ix::write_field(*this, file, "line", values, b, all);
    co_await written;
    contribute(values.kind() == ix::memory_kind::device ? 1 : 0, ix::sum);
  }
};

void expect_lines_in_order(const job_shape& s, const std::string& device, int on_gpus) {
  const own_folder at;
  command_line line(s, {"--imbrex-device=" + device});
  EXPECT_EQ(ix::run(
                line.count(), line.values(),
                [](ix::runtime& rt, std::string file, int expected_on_gpus) -> ix::task<int> {
                  auto all = rt.create_array<buffer_writer>(ix::index1d(6));
                  all.broadcast<&buffer_writer::run>(file);
                  const int found = co_await all.reduction<int>();
                  EXPECT_EQ(found, expected_on_gpus);
                  const ix::field_block whole_line{0, 0, 0, {6 * buffer_writer::cells}, {}};
                  std::vector<std::uint32_t> read_back(whole_line.cells.nx);
                  auto read = ix::read_field<std::uint32_t>(file, "line", read_back, whole_line);
                  co_await read;
                  int wrong = 0;
                  for (std::uint64_t k = 0; k < read_back.size(); ++k) {
                    const std::uint32_t byte = buffer_writer::byte_of(static_cast<int>(k / buffer_writer::cells));
                    wrong += read_back[k] != byte * 0x01010101U;
                  }
                  co_return wrong == 0 ? 0 : 5;
                },
                at.file("line.h5"), on_gpus),
            0);
}

TEST(fields, of_buffers_are_written_in_the_order_of_their_stream) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}}) expect_lines_in_order(s, "host", 0);
}

TEST(fields, of_buffers_on_gpus_are_written_in_the_order_of_their_stream) {
#if IMBREX_HAVE_CUDA
  std::string why;
  if (ix::cuda_machine::count(&why) < 1) GTEST_SKIP() << why;
  for (const job_shape& s : {job_shape{1, 1}, {2, 2}}) expect_lines_in_order(s, "cuda", 6);
#else
  GTEST_SKIP() << "this build has no CUDA";
#endif
}

/// Writes what it is told, and says what is said of that.
struct careless : ix::chare<careless, ix::index1d> {
  ix::task<std::string> run(std::string file, std::string dataset, ix::field_block first, ix::field_block second,
                            std::uint64_t values) {
    std::string said;
    const std::vector<float> v(values);
    try {
      auto written =
          ix::write_field(*this, file, dataset, std::span(v), index() == 0 ? first : second, ix::field_extent{8, 8});
      co_await written;
    } catch (const ix::usage_error& e) {
      said = e.what();
    }
    co_return said;
  }
};

/// Of both elements the same.
std::string said_of(const std::string& file, const std::string& dataset, ix::field_block first, ix::field_block second,
                    std::uint64_t values = 16) {
  static std::string said;
  said.clear();
  EXPECT_EQ(run_job_with(
                {2, 1},
                [](ix::runtime& rt, std::string f, std::string d, ix::field_block a, ix::field_block b,
                   std::uint64_t n) -> ix::task<int> {
                  auto all = rt.create_array<careless>(ix::index1d(2));
                  auto one = all[0].call<&careless::run>(f, d, a, b, n);
                  auto two = all[1].call<&careless::run>(f, d, a, b, n);
                  auto both = ix::when_all(std::move(one), std::move(two));
                  const auto [x, y] = co_await std::move(both);
                  EXPECT_EQ(x, y);
                  said = x;
                  co_return 0;
                },
                file, dataset, first, second, values),
            0);
  return said;
}

TEST(fields, that_cannot_be_written_are_named_on_all_elements) {
  const own_folder at;
  const std::string file = at.file("out.h5");
  const ix::field_block left{0, 0, 0, {4, 4}, {}}, right{4, 0, 0, {4, 4}, {}};
  EXPECT_EQ(said_of(file, "a", left, right), "");
  EXPECT_THAT(said_of(file, "a", left, {3, 2, 0, {4, 4}, {}}),
              testing::AllOf(HasSubstr("two chares write the same cells of a of " + file),
                             HasSubstr("cells 3 to 6, 2 to 5, 0 to 0")));
  EXPECT_THAT(said_of(file, "a", left, {5, 0, 0, {4, 4}, {}}),
              testing::AllOf(HasSubstr("cells 5 to 8, 0 to 3, 0 to 0 are not of a of"), HasSubstr("8 x 8 x 1 cells")));
  EXPECT_THAT(said_of(file, "a", {std::uint64_t(-1), 0, 0, {4, 4}, {}}, right), HasSubstr("are not of a of"));
  EXPECT_THAT(said_of(file, "a", left, {4, 0, 0, {4, 3}, {}}), HasSubstr("12 padded cells has 16 values"));
  EXPECT_THAT(said_of(file, "a", left, right, 15), HasSubstr("16 padded cells has 15 values"));
  std::ofstream(at.file("text.h5")) << "not a field";
  EXPECT_THAT(said_of(at.file("text.h5"), "a", left, right), HasSubstr("is no HDF5 file"));
  EXPECT_THAT(said_of("/dev/null/x.h5", "a", left, right), HasSubstr("/dev/null/x.h5"));
  EXPECT_THAT(said_of(file, "a/b", left, right), HasSubstr("a/b"));
}

/// Elements that disagree on which field they write; the first one has no cells of it.
struct disagreeing : ix::chare<disagreeing, ix::index1d> {
  ix::task<std::string> run(std::string file, int how) {
    const bool other = index() == 1;
    const std::vector<float> v(index() == 0 ? 0 : 4);
    std::string said;
    try {
      const std::uint64_t x = index() == 0 ? 0 : 4 * static_cast<std::uint64_t>(index() - 1);
      auto written = ix::write_field(
          *this, how == 1 && other ? file + ".other.h5" : file, how == 2 && other ? "b" : "a", std::span(v),
          ix::field_block{x, 0, 0, {v.size()}, {}}, ix::field_extent{how == 3 && other ? 9u : 8u});
      co_await written;
    } catch (const ix::usage_error& e) {
      said = e.what();
    }
    co_return said;
  }
};

TEST(fields, on_which_elements_disagree_are_refused_and_empty_blocks_are_none) {
  const own_folder at;
  for (int how = 0; how < 4; ++how) {
    SCOPED_TRACE(how);
    static std::vector<std::string> said;
    said.clear();
    EXPECT_EQ(run_job_with(
                  {2, 1},
                  [](ix::runtime& rt, std::string f, int h) -> ix::task<int> {
                    auto all = rt.create_array<disagreeing>(ix::index1d(3));
                    std::vector<decltype(all[0].call<&disagreeing::run>(f, h))> calls;
                    for (int i = 0; i < 3; ++i) calls.push_back(all[i].call<&disagreeing::run>(f, h));
                    auto answers = ix::when_all(std::move(calls));
                    said = co_await std::move(answers);
                    co_return 0;
                  },
                  at.file("out.h5"), how),
              0);
    if (how == 0) {
      EXPECT_THAT(said, testing::Each(std::string()));
    } else {
      EXPECT_THAT(said, testing::Each(HasSubstr("chares of one array write different fields at once: one ")));
    }
  }
}

TEST(fields, that_cannot_be_read_are_named) {
  const own_folder at;
  const std::string file = at.file("out.h5");
  ASSERT_EQ(run_job_with({1, 1}, writes_and_reads, file), 0);
  const std::string robbed = at.file("robbed.h5");
  ASSERT_EQ(run_job_with({1, 2}, writes_and_reads, robbed), 0);
  std::filesystem::remove(robbed + ".parts/rank_000001.h5");
  const std::string torn = at.file("torn.h5");
  ASSERT_EQ(run_job_with({1, 2}, writes_and_reads, torn), 0);
  const std::string part = torn + ".parts/rank_000001.h5";
  std::filesystem::resize_file(part, std::filesystem::file_size(part) - 4);
  struct attempt {
    std::string file, dataset;
    ix::field_block block;
    std::string said;
  };
  const std::vector<attempt> attempts{
      {file, "nothing", {0, 0, 0, {1}, {}}, "there is no such dataset"},
      {robbed, "owner", {0, 0, 0, {1}, {}}, "its part " + robbed + ".parts/rank_000001.h5 is not there"},
      {torn, "owner", {0, 0, 0, {1}, {}}, "cannot read " + part},
      {at.file("no.h5"), "owner", {0, 0, 0, {1}, {}}, "there is no such file"},
      {file, "owner", {13, 0, 0, {1}, {}}, "it has 13 x 7 x 5 cells"},
      {file, "owner", {0, 0, 0, {2}, {}}, "2 padded cells is read to 1 values"},
  };
  for (const attempt& a : attempts) {
    static std::string said;
    said.clear();
    EXPECT_EQ(run_job_with(
                  {1, 1},
                  [](ix::runtime&, std::string f, std::string d, ix::field_block b) -> ix::task<int> {
                    try {
                      std::vector<double> one(1);
                      auto read = ix::read_field<double>(f, d, one, b);
                      co_await read;
                    } catch (const ix::usage_error& e) {
                      said = e.what();
                    }
                    co_return 0;
                  },
                  a.file, a.dataset, a.block),
              0);
    EXPECT_THAT(said, HasSubstr(a.said));
  }
}

#else

TEST(fields, say_what_to_install) {
  const auto [code, errors] = run_and_listen({1, 1}, writes_and_reads, std::string("out.h5"));
  EXPECT_NE(code, 0);
  EXPECT_THAT(errors, HasSubstr("install libhdf5-dev"));
}

#endif

}  // namespace

}  // namespace fields_test
