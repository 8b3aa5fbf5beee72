#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <string>
#include <vector>

#include "unit/checkpoint/live/job_with_checkpoints.h"
#include "unit/checkpoint/live/ring_program.h"

namespace resize_test {

// Jobs that go on with other numbers of PEs in the same processes.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using testing::HasSubstr;

/// A ring that asks for the next number of PEs each time it begins.
struct resized_ring : ring {
  resized_ring() = default;
  explicit resized_ring(int num_cells) : ring(num_cells, 0, 200) {}
  static inline std::vector<int> next;  // numbers of PEs of each rank
  static inline std::vector<int> seen;

  ix::task<int> start(ix::runtime& rt) {
    seen.clear();
    ask_for_next(rt);
    auto rest = ring::start(rt);
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime& rt) {
    ask_for_next(rt);
    auto rest = ring::restart(rt);
    co_return co_await rest;
  }
  static void ask_for_next(ix::runtime& rt) {
    seen.push_back(rt.pes_per_rank());
    if (seen.size() <= next.size()) rt.resize(next[seen.size() - 1]);
  }
};

TEST(resize, goes_on_with_other_numbers_of_pes_in_the_same_processes) {
  resized_ring::next = {3, 1, 4};
  for (const job_shape& s : real_shapes()) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_program<resized_ring>(s, {"--imbrex-checkpoint-memory=1h"}, 13), 0);
    EXPECT_EQ(resized_ring::seen, (std::vector<int>{s.pes, 3, 1, 4}));
  }
}

TEST(resize, works_with_checkpoints_in_files_alone) {
  folder_of_checkpoints at;
  resized_ring::next = {2};
  EXPECT_EQ(run_program<resized_ring>({3, 2}, {at.option()}, 13), 0);
  EXPECT_EQ(resized_ring::seen, (std::vector<int>{3, 2}));
  EXPECT_FALSE(at.has_any());
}

TEST(resize, and_losses_go_together) {
  resized_ring::next = {2, 1, 3, 2};
  for (int seed = 1; seed <= 10; ++seed) {
    const job_shape s{1, 4, static_cast<std::uint64_t>(seed), seed % 2 * 30};
    SCOPED_TRACE(to_text(s));
    testing::internal::CaptureStderr();
    const int code =
        run_program<resized_ring>(s, {"--imbrex-checkpoint-memory=1", "--imbrex-loopback-lose-after=250"}, 13);
    EXPECT_EQ(code, 0) << testing::internal::GetCapturedStderr();
    if (code != 0) return;
    testing::internal::GetCapturedStderr();
  }
}

/// Has so much that its checkpoint is still being kept when the next point comes.
struct heavy : ix::chare<heavy, ix::index1d> {
  std::vector<std::uint64_t> values;
  void fill() { values.assign(1'500'000, 7); }
  int size() { return static_cast<int>(values.size()); }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & values;
  }
};

/// Asks right before its last point, at once behind another one.
struct resized_at_the_last_point {
  static inline std::vector<int> seen;
  ix::array_proxy<heavy> all;

  ix::task<int> start(ix::runtime& rt) {
    seen = {rt.pes_per_rank()};
    all = rt.create_array<heavy>(ix::index1d(4));
    all.broadcast<&heavy::fill>();
    auto first = rt.checkpoint_point();
    const bool was_made = co_await first;
    EXPECT_TRUE(was_made);
    rt.resize(2);
    const int n = co_await all[0].call<&heavy::size>();  // the number has come where it goes
    auto last = rt.checkpoint_point();
    co_await last;
    co_return n == 1'500'000 ? 3 : 5;  // nobody comes here in a job that begins again
  }
  ix::task<int> restart(ix::runtime& rt) {
    seen.push_back(rt.pes_per_rank());
    const int n = co_await all[3].call<&heavy::size>();
    co_return n == 1'500'000 ? 0 : 5;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & all;
  }
};

TEST(resize, does_not_miss_a_point_because_a_checkpoint_is_being_kept) {
  EXPECT_EQ(run_program<resized_at_the_last_point>({1, 2}, {"--imbrex-checkpoint-memory=1"}), 0);
  EXPECT_EQ(resized_at_the_last_point::seen, (std::vector<int>{1, 2}));
}

/// Asks when no point comes any more.
struct resized_too_late {
  ix::task<int> start(ix::runtime& rt) {
    rt.resize(3);
    co_return 0;
  }
  ix::task<int> restart(ix::runtime&) { co_return 5; }
  template <class Archive>
  void serialize(Archive&) {}
};

TEST(resize, says_that_it_was_not_carried_out) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_program<resized_too_late>({1, 2}, {"--imbrex-checkpoint-memory=1h"}), 0);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("did not go on with 3 PEs of each rank"));
}

/// Says what is said of a number.
struct refused_resize {
  int pes = 0;
  static inline std::string said;
  refused_resize() = default;
  explicit refused_resize(int n) : pes(n) {}
  ix::task<int> start(ix::runtime& rt) {
    try {
      rt.resize(pes);
    } catch (const ix::usage_error& e) {
      said = e.what();
    }
    co_return 0;
  }
  ix::task<int> restart(ix::runtime&) { co_return 5; }
  template <class Archive>
  void serialize(Archive&) {}
};

TEST(resize, is_refused_where_it_cannot_be) {
  EXPECT_EQ(run_program<refused_resize>({1, 2}, {}, 2), 0);
  EXPECT_THAT(refused_resize::said, HasSubstr("this job has none: start it with --imbrex-checkpoint-memory"));
  EXPECT_EQ(run_program<refused_resize>({1, 2}, {"--imbrex-checkpoint-memory=1h"}, 0), 0);
  EXPECT_THAT(refused_resize::said, HasSubstr("with 0 PEs of each rank: give a number from 1 to 4096"));
}

}  // namespace

}  // namespace resize_test
