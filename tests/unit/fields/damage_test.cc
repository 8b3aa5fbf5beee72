#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/fields.h>
#include <imbrex/imbrex.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "imbrex/base/build_config.h"
#include "unit/fields/own_folder.h"
#include "unit/object/job.h"

#if IMBREX_HAVE_HDF5
#include <hdf5.h>

namespace damage_test {

// Fields whose writing ends in the middle, or cannot be: what is there afterwards, and what is said.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using testing::AllOf;
using testing::HasSubstr;

/// How a line of cells is written: each cell is `first` and its number.
struct wish {
  std::string file, dataset = "a";
  std::uint64_t cells = 30;
  double first = 0;
  std::optional<double> time = {};
  int shift = 0;  ///< which element has which block
  template <class Archive>
  void serialize(Archive& ar) {
    ar & file & dataset & cells & first & time & shift;
  }
};

struct writer : ix::chare<writer, ix::index1d> {
  /// What is said where it cannot be.
  ix::task<std::string> try_to_write(wish w) {
    std::string said;
    try {
      auto written = write(w);
      co_await written;
    } catch (const ix::usage_error& e) {
      said = e.what();
    }
    co_return said;
  }
  /// On and on, each time by others.
  ix::task<> write_for_ever(wish w, std::string mark) {
    for (int round = 0;; ++round) {
      w.first = 1e6 * round;
      w.shift = round;
      auto written = write(w);
      co_await written;
      if (round == 4 && index() == 0) std::ofstream(mark) << "the field has been replaced a few times";
    }
  }

 private:
  ix::task<> write(wish w) {
    const auto n = static_cast<std::uint64_t>(extent().x);
    const std::uint64_t i = static_cast<std::uint64_t>(index().x + w.shift) % n;
    ix::field_block b;
    b.x = w.cells * i / n;
    b.cells.nx = w.cells * (i + 1) / n - b.x;
    std::vector<double> values(b.cells.nx);
    for (std::uint64_t k = 0; k < values.size(); ++k) values[k] = w.first + static_cast<double>(b.x + k);
    auto written = ix::write_field(*this, w.file, w.dataset, values, b, ix::field_extent{w.cells}, w.time);
    co_await written;
  }
};

/// What all elements say; empty: it was written.
std::string said_of(const wish& w, const job_shape& s = {2, 2}, int elements = 5) {
  static std::string said;
  said.clear();
  EXPECT_EQ(run_job_with(
                s,
                [](ix::runtime& rt, wish what, int n) -> ix::task<int> {
                  auto all = rt.create_array<writer>(ix::index1d(n));
                  std::vector<decltype(all[0].call<&writer::try_to_write>(what))> calls;
                  for (int i = 0; i < n; ++i) calls.push_back(all[i].call<&writer::try_to_write>(what));
                  auto answers = ix::when_all(std::move(calls));
                  const std::vector<std::string> each = co_await std::move(answers);
                  EXPECT_THAT(each, testing::Each(each.front()));
                  said = each.front();
                  co_return 0;
                },
                w, elements),
            0);
  return said;
}

struct found {
  std::vector<double> values;
  std::uint64_t cells = 0;
  std::string said;
};
found read_back(const std::string& file, const std::string& dataset = "a", std::optional<double> time = {}) {
  static found f;
  f = {};
  EXPECT_EQ(run_job_with(
                {1, 1},
                [](ix::runtime&, std::string from, std::string d, std::optional<double> t) -> ix::task<int> {
                  try {
                    auto asked = ix::extent_of_field(from, d, t);
                    const ix::field_extent e = co_await asked;
                    f.cells = e.volume();
                    f.values.resize(e.volume());
                    auto read = ix::read_field(from, d, f.values, ix::field_block{0, 0, 0, e, {}}, t);
                    co_await read;
                  } catch (const ix::usage_error& x) {
                    f.said = x.what();
                  }
                  co_return 0;
                },
                file, dataset, time),
            0);
  return f;
}

std::vector<double> line(double first, std::uint64_t cells) {
  std::vector<double> all(cells);
  for (std::uint64_t k = 0; k < cells; ++k) all[k] = first + static_cast<double>(k);
  return all;
}

/// Files of this process may have so many bytes.
class largest_file {
 public:
  explicit largest_file(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
  }
  ~largest_file() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  largest_file(const largest_file&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

TEST(damage, where_there_is_no_room_is_an_error_and_what_was_there_stays) {
  for (const char* name : {"out.h5", "out.xdmf"}) {
    const own_folder at;
    const wish small{at.file(name), "a", 30, 7};
    ASSERT_EQ(said_of(small), "");
    wish large = small;
    large.cells = 400'000;
    wish other = large;
    other.file = at.file("other_" + std::string(name));
    {
      const largest_file limit(300'000);
      EXPECT_THAT(said_of(large), AllOf(HasSubstr("cannot write "), HasSubstr(".parts/rank_"), HasSubstr("ulimit -f")));
      EXPECT_THAT(said_of(other), HasSubstr("ulimit -f"));
    }
    EXPECT_EQ(read_back(small.file).values, line(7, 30));
    EXPECT_EQ(said_of(large), "");
    EXPECT_EQ(read_back(small.file).values, line(7, 400'000));
    EXPECT_EQ(said_of(other), "");
    EXPECT_EQ(read_back(other.file).values, line(7, 400'000));
  }
}

/// A process of its own writes until it is killed.
void kill_while_it_writes(const wish& w, const job_shape& s, const std::string& mark, int more_us) {
  const pid_t child = fork();
  if (child == 0) {
    _exit(run_job_with(
        s,
        [](ix::runtime& rt, wish what, std::string m) -> ix::task<int> {
          auto all = rt.create_array<writer>(ix::index1d(5));
          all.broadcast<&writer::write_for_ever>(what, m);
          co_await all.reduction<int>();
          co_return 0;
        },
        w, mark));
  }
  for (int i = 0; i < 2000 && !std::filesystem::exists(mark); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  ASSERT_TRUE(std::filesystem::exists(mark));
  std::this_thread::sleep_for(std::chrono::microseconds(more_us));
  kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
}

TEST(damage, of_a_job_that_is_killed_while_it_replaces_a_field_is_none) {
  for (const char* name : {"out.h5", "out.xdmf"}) {
    for (int k = 0; k < 12; ++k) {
      const own_folder at;
      const wish w{at.file(name), "a", 20'000};
      kill_while_it_writes(w, k % 2 == 0 ? job_shape{2, 1} : job_shape{1, 3}, at.file("mark"), 1700 * k);
      const found there = read_back(w.file);
      EXPECT_EQ(there.said, "");
      ASSERT_EQ(there.values.size(), w.cells);
      EXPECT_EQ(there.values, line(there.values[0], w.cells)) << "killed after " << 1700 * k << " us";
      EXPECT_EQ(said_of({w.file, "a", w.cells, 5}), "");
      EXPECT_EQ(read_back(w.file).values, line(5, w.cells));
    }
  }
}

TEST(damage, of_files_of_a_series_does_not_keep_it_from_going_on) {
  for (const std::string victim : {"out_t1.h5", "out_t1.h5.parts/rank_000001.h5"}) {
    for (const std::uintmax_t left : {0, 100, 700}) {
      SCOPED_TRACE(victim + " " + std::to_string(left));
      const own_folder at;
      const std::string file = at.file("out.xdmf");
      ASSERT_EQ(said_of({file, "a", 30, 0, 0.0}), "");
      ASSERT_EQ(said_of({file, "a", 30, 1, 1.0}), "");
      std::filesystem::resize_file(at.file(victim), left);
      EXPECT_THAT(read_back(file, "a", 1.0).said, HasSubstr("cannot read"));
      EXPECT_EQ(said_of({file, "a", 30, 2, 1.0}), "");
      EXPECT_EQ(read_back(file, "a", 1.0).values, line(2, 30));
      EXPECT_EQ(read_back(file, "a", 0.0).values, line(0, 30));
    }
  }
}

TEST(damage, of_a_file_that_may_be_anybodys_is_named_and_left_alone) {
  const own_folder at;
  const std::string file = at.file("out.h5");
  ASSERT_EQ(said_of({file}), "");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 100);
  EXPECT_THAT(said_of({file}), AllOf(HasSubstr("cannot write to " + file), HasSubstr("damaged; remove it")));
  EXPECT_FALSE(std::filesystem::exists(file + ".next"));
}

TEST(damage, that_took_blocks_out_of_a_part_is_seen_by_who_reads) {
  const own_folder at;
  const std::string file = at.file("out.h5"), part = file + ".parts/rank_000000.h5";
  ASSERT_EQ(said_of({file}), "");
  const hid_t f = H5Fopen(part.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  ASSERT_GE(H5Ldelete(f, "a/0_0_0", H5P_DEFAULT), 0);
  H5Fclose(f);
  EXPECT_THAT(read_back(file).said, AllOf(HasSubstr("its part " + part), HasSubstr("a/0_0_0")));
}

TEST(damage, by_names_is_refused) {
  const own_folder at;
  const std::string file = at.file("out.h5");
  ASSERT_EQ(said_of({file, "a/b"}), "");
  ASSERT_EQ(said_of({file, "c"}), "");
  EXPECT_THAT(said_of({file, "a"}), HasSubstr("a there is a group, which has other fields"));
  EXPECT_THAT(said_of({file, "c/d"}), HasSubstr("c there is a field, and cannot have others below it"));
  EXPECT_THAT(said_of({file, "a/b/e"}), HasSubstr("a/b there is a field"));
  using namespace std::string_literals;
  for (const std::string& name : {""s, "/"s, "."s, "a/../b"s, "a//b"s, "a/"s, "a\0b"s})
    EXPECT_THAT(said_of({file, name}), HasSubstr("is no name of a field")) << name;
  EXPECT_EQ(read_back(file, "a/b").values, line(0, 30));
  EXPECT_EQ(read_back(file, "c").values, line(0, 30));
}

TEST(damage, is_not_done_by_names_that_are_odd) {
  const own_folder at;
  const std::string file = at.file("50%b 100%% ~.h5");
  for (const std::string name : {"a%b", "a~1b", "a/b", "u/0_0_0", "u%2F"}) {
    for (const double first : {1, 2, 3}) {
      EXPECT_EQ(said_of({file, name, 30, first}), "") << name;
      EXPECT_EQ(read_back(file, name).values, line(first, 30)) << name;
    }
  }
  EXPECT_EQ(read_back(file, "a~1b").values, line(3, 30));
}

TEST(damage, is_not_done_to_fields_of_no_cells) {
  for (const char* name : {"out.h5", "out.xdmf"}) {
    const own_folder at;
    const std::string file = at.file(name);
    EXPECT_EQ(said_of({file, "a", 0}), "");
    EXPECT_EQ(read_back(file).said, "");
    EXPECT_EQ(read_back(file).cells, 0u);
    EXPECT_EQ(said_of({file, "a", 30}), "");
    EXPECT_EQ(read_back(file).values, line(0, 30));
    EXPECT_EQ(said_of({file, "a", 0}), "");
    EXPECT_EQ(read_back(file).cells, 0u);
  }
}

/// Elements of which none has a cell of a field that has some.
struct idler : ix::chare<idler, ix::index1d> {
  ix::task<> write(std::string file) {
    std::vector<long long> none;
    auto written = ix::write_field(*this, file, "n", none, ix::field_block{0, 0, 0, {0}, {}}, ix::field_extent{4});
    co_await written;
    std::array<unsigned, 2> some{7, 8};
    const std::uint64_t x = 2 * static_cast<std::uint64_t>(index().x);
    auto also =
        ix::write_field(*this, file, "m", std::span(some), ix::field_block{x, 0, 0, {2}, {}}, ix::field_extent{6});
    co_await also;
    std::array<std::uint64_t, 2> back{};
    auto read = ix::read_field(file, "m", std::span(back), ix::field_block{x, 0, 0, {2}, {}});
    co_await read;
    contribute(back[0] == 7 && back[1] == 8 ? 1 : 0, ix::sum);
  }
};

TEST(damage, is_not_done_where_all_blocks_are_empty) {
  const own_folder at;
  EXPECT_EQ(run_job_with(
                {2, 2},
                [](ix::runtime& rt, std::string f) -> ix::task<int> {
                  auto all = rt.create_array<idler>(ix::index1d(3));
                  all.broadcast<&idler::write>(f);
                  const int right = co_await all.reduction<int>();
                  co_return right == 3 ? 0 : 1;
                },
                at.file("out.h5")),
            0);
  EXPECT_EQ(read_back(at.file("out.h5"), "n").values, std::vector<double>(4, 0));
}

}  // namespace

}  // namespace damage_test

#endif
