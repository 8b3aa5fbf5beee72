#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/fields.h>
#include <imbrex/imbrex.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "imbrex/base/build_config.h"
#include "unit/fields/own_folder.h"
#include "unit/object/job.h"

namespace series_test {

// Fields at several times in one file, in the formats that have them.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using testing::HasSubstr;

constexpr ix::field_extent whole{6, 4, 3};

std::string text_in(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

double value_at(std::uint64_t cell, double time) { return static_cast<double>(cell) + 1000 * time; }

/// A third of the cells, with ghosts, and a field of integers without.
struct third : ix::chare<third, ix::index1d> {
  ix::field_block where(std::uint64_t ghosts) const {
    return {static_cast<std::uint64_t>(2 * index().x), 0, 0, {2, whole.ny, whole.nz}, {ghosts, 0, ghosts}};
  }
  template <class T>
  std::vector<T> filled(const ix::field_block& b, double time) const {
    std::vector<T> values(b.padded().volume(), T(77));
    for (std::uint64_t z = 0; z < b.cells.nz; ++z) {
      for (std::uint64_t y = 0; y < b.cells.ny; ++y) {
        for (std::uint64_t x = 0; x < b.cells.nx; ++x)
          values[((z + b.ghosts[2]) * b.padded().ny + y + b.ghosts[1]) * b.padded().nx + x + b.ghosts[0]] =
              static_cast<T>(value_at(((z + b.z) * whole.ny + y + b.y) * whole.nx + x + b.x, time));
      }
    }
    return values;
  }

  ix::task<> write(std::string file, std::vector<double> times) {
    for (const double time : times) {
      const std::vector<double> heat = filled<double>(where(1), time);
      auto written = ix::write_field(*this, file, "fluid/heat", std::span(heat), where(1), whole, time);
      co_await written;
      const std::vector<std::int32_t> cell = filled<std::int32_t>(where(0), 0);
      auto also = ix::write_field(*this, file, "cell", std::span(cell), where(0), whole, time);
      co_await also;
    }
    contribute(0, ix::sum);
  }
  /// How many of its cells are not as they were at `time`; `asked`: what is read.
  ix::task<> read(std::string file, double time, std::optional<double> asked) {
    std::vector<float> heat(where(1).padded().volume(), 77.0F);
    auto read = ix::read_field(file, "fluid/heat", std::span(heat), where(1), asked);
    co_await read;
    contribute(heat == filled<float>(where(1), time) ? 0 : 1, ix::sum);
  }
};

ix::task<int> writes_and_goes_on(ix::runtime& rt, std::string file) {
  auto all = rt.create_array<third>(ix::index1d(3));
  all.broadcast<&third::write>(file, std::vector<double>{0, 0.5, 1});
  co_await all.reduction<int>();
  all.broadcast<&third::write>(file, std::vector<double>{0.5, 1, 1.5});  // as after a restart
  co_await all.reduction<int>();
  auto others = rt.create_array<third>(ix::index1d(3));
  int wrong = 0;
  for (const double time : {0.0, 0.5, 1.5}) {
    others.broadcast<&third::read>(file, time, std::optional(time));
    wrong += co_await others.reduction<int>();
  }
  others.broadcast<&third::read>(file, 1.5, std::optional<double>());
  wrong += co_await others.reduction<int>();
  auto asked = ix::extent_of_field(file, "cell", 0.5);
  if (co_await asked != whole) co_return 6;
  co_return wrong == 0 ? 0 : 5;
}

std::string said_of_reading(const std::string& file, std::optional<double> time) {
  static std::string said;
  said.clear();
  EXPECT_EQ(run_job_with(
                {1, 1},
                [](ix::runtime&, std::string f, std::optional<double> t) -> ix::task<int> {
                  try {
                    std::vector<double> one(1);
                    auto read = ix::read_field(f, "fluid/heat", std::span(one), {0, 0, 0, {1}, {}}, t);
                    co_await read;
                  } catch (const ix::error& e) {
                    said = e.what();
                  }
                  co_return 0;
                },
                file, time),
            0);
  return said;
}

#if IMBREX_HAVE_HDF5
TEST(series, in_xdmf_name_each_time_once) {
  for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 2}}) {
    SCOPED_TRACE(to_text(s));
    const own_folder at;
    const std::string file = at.file("out.xdmf");
    ASSERT_EQ(run_job_with(s, writes_and_goes_on, file), 0);
    const std::string text = text_in(file);
    std::size_t last = 0;
    for (const char* time : {"0", "0.5", "1", "1.5"}) {
      const std::string line = fmt::format("<Time Value=\"{}\"/>", time);
      const std::size_t place = text.find(line);
      ASSERT_NE(place, std::string::npos) << text;
      EXPECT_GE(place, last);
      EXPECT_EQ(text.find(line, place + 1), std::string::npos);
      last = place;
      EXPECT_THAT(text, HasSubstr(fmt::format("Dimensions=\"3 4 6\">out_t{}.h5:/fluid/heat</DataItem>", time)));
      EXPECT_TRUE(std::filesystem::exists(at.file(fmt::format("out_t{}.h5", time))));
    }
    EXPECT_THAT(text, HasSubstr("\"3DCoRectMesh\" Dimensions=\"4 5 7\""));
    EXPECT_THAT(text, HasSubstr("NumberType=\"Int\" Precision=\"4\""));
    EXPECT_THAT(said_of_reading(file, 0.25), HasSubstr("at 0.25 of " + file + ": there is no such field at that time"));
  }
}

TEST(series, of_others_or_without_times_are_refused) {
  const own_folder at;
  std::filesystem::create_directories(at.file(""));
  std::ofstream(at.file("theirs.xdmf")) << "<Xdmf/>\n";
  EXPECT_THAT(said_of_reading(at.file("theirs.xdmf"), {}), HasSubstr("no index of imbrex's fields"));
  EXPECT_THAT(said_of_reading(at.file("none.xdmf"), {}), HasSubstr("there is no such file"));
  EXPECT_THAT(said_of_reading(at.file("out.h5"), 0.5),
              HasSubstr("has no times: name a file that ends with .xdmf or .bp"));
}
#endif

#if IMBREX_HAVE_ADIOS2
TEST(series, in_bp_are_read_at_each_time) {
  for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 2}}) {
    SCOPED_TRACE(to_text(s));
    const own_folder at;
    const std::string file = at.file("out.bp");
    ASSERT_EQ(run_job_with(s, writes_and_goes_on, file), 0);
    EXPECT_FALSE(std::filesystem::exists(file + ".parts"));
    EXPECT_THAT(said_of_reading(file, 0.25), HasSubstr("there is no such field at that time"));
    EXPECT_THAT(said_of_reading(at.file("none.bp"), {}), HasSubstr("there is no such file"));
  }
}
#else
TEST(series, in_bp_say_what_to_install) {
  EXPECT_THAT(said_of_reading("out.bp", {}), HasSubstr("fields in .bp files need ADIOS2"));
}
#endif

}  // namespace

}  // namespace series_test
