#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <string>
#include <utility>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/base/memory/sanitizer.h"
#include "imbrex/checkpoint/erasure_code/reed_solomon.h"
#include "unit/checkpoint/live/job_with_checkpoints.h"
#include "unit/checkpoint/live/ring_program.h"

namespace lost_rank_test {

// Whole jobs that lose ranks at random moments, also in the middle of checkpoints, and go on in the same processes.
namespace {

namespace ix = imbrex;
using namespace imbrex_test;
using testing::HasSubstr;

/// Counts how often it begins.
struct counted_ring : ring {
  using ring::ring;
  static inline int starts = 0, restarts = 0;
  static inline int ranks_at_end = 0;

  ix::task<int> start(ix::runtime& rt) {
    ++starts;
    ranks_at_end = rt.num_ranks();
    auto rest = ring::start(rt);
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime& rt) {
    ++restarts;
    ranks_at_end = rt.num_ranks();
    auto rest = ring::restart(rt);
    co_return co_await rest;
  }
};

class lost_rank : public testing::Test {
 protected:
  void SetUp() override { counted_ring::starts = counted_ring::restarts = 0; }
};

struct outcome {
  int code = 0;
  std::string errors;
};

outcome run_ring(const job_shape& s, std::vector<std::string> options, int cells = 11, int num_steps = 300) {
  testing::internal::CaptureStderr();
  const int code = run_program<counted_ring>(s, std::move(options), cells, 0, num_steps);
  return {code, testing::internal::GetCapturedStderr()};
}

TEST_F(lost_rank, is_gone_on_without_until_one_is_left) {
  for (const job_shape& s : {job_shape{1, 2}, {2, 3}, {1, 5}, {3, 4, 7, 40}, {2, 3, 12, 30, true}}) {
    SCOPED_TRACE(to_text(s));
    SetUp();
    // Until a loss comes after a checkpoint, however slow the machine.
    for (int after = 1000; counted_ring::restarts == 0 && after <= 20'000; after += 1000) {
      const outcome o = run_ring(
          s, {"--imbrex-checkpoint-memory=1", fmt::format("--imbrex-loopback-lose-after={}", after)}, 11, 2000);
      EXPECT_EQ(o.code, 0) << o.errors;
      EXPECT_THAT(o.errors,
                  HasSubstr(fmt::format("1 of {} ranks lost; the job goes on with {}", s.ranks, s.ranks - 1)));
      if (counted_ring::restarts > 0) {
        EXPECT_THAT(o.errors, HasSubstr("in memory, made"));
      }
    }
    EXPECT_GT(counted_ring::restarts, 0);
  }
}

TEST_F(lost_rank, at_any_moment_ends_with_the_same_bits) {
  int from_memory = 0;
  constexpr int seeds = 60;
  for (int seed = 1; seed <= seeds; ++seed) {
    const auto random = [seed](int which, int n) {
      return static_cast<int>(ix::mix(static_cast<std::uint64_t>(10 * seed + which)) % static_cast<std::uint64_t>(n));
    };
    const job_shape s{1 + random(0, 3), 2 + random(1, 5), static_cast<std::uint64_t>(seed), random(2, 2) * 40,
                      random(3, 4) == 0};
    const int group = 2 + random(5, 3);
    std::vector<std::string> options{"--imbrex-checkpoint-memory=1",
                                     fmt::format("--imbrex-loopback-lose-after={}", 20 + random(4, 1500)),
                                     fmt::format("--imbrex-checkpoint-group={}", group)};
    if (group > 2 && ix::reed_solomon::is_built() && random(6, 2) == 0)
      options.emplace_back("--imbrex-checkpoint-parity=2");
    SCOPED_TRACE(to_text(s) + ", " + options[1] + ", " + options[2]);
    const outcome o = run_ring(s, options, 5 + random(7, 12));
    EXPECT_EQ(o.code, 0) << o.errors;
    for (std::size_t at = 0; (at = o.errors.find("from checkpoint", at)) != std::string::npos; ++at) ++from_memory;
  }
  EXPECT_GT(from_memory, seeds / 2);
  RecordProperty("from_memory", from_memory);
}

/// Has more than a network takes in one piece.
struct large_cell : ix::chare<large_cell, ix::index1d> {
  std::vector<std::uint64_t> values;
  int step = 0;

  large_cell() : values(ix::any_sanitizer ? 300'000 : 600'000) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = ix::mix(i + 1'000'000 * static_cast<std::size_t>(index().x));
  }
  ix::task<> run(int until) {
    while (step < until) {
      for (std::uint64_t& v : values) v = v * 3 + 1;
      ++step;
      co_await ix::checkpoint_point(*this);
    }
    std::uint64_t all = 0;
    for (const std::uint64_t v : values) all = ix::mix(all ^ v);
    contribute(all, ix::bit_xor);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & values & step;
  }
};

struct large_job {
  static inline int restarts = 0;
  static inline std::uint64_t result = 0;
  ix::array_proxy<large_cell> cells;

  ix::task<int> start(ix::runtime& rt) {
    cells = rt.create_array<large_cell>(ix::index1d(7));
    auto rest = finish();
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime&) {
    ++restarts;
    auto rest = finish();
    co_return co_await rest;
  }
  ix::task<int> finish() {
    cells.broadcast<&large_cell::run>(60);
    auto sum = cells.reduction<std::uint64_t>();
    result = co_await sum;
    co_return 0;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & cells;
  }
};

TEST_F(lost_rank, with_a_large_state_is_restored_from_parity) {
  ASSERT_EQ(run_program<large_job>({2, 1}, {}), 0);
  const std::uint64_t expected = large_job::result;
  for (const auto& [ranks, group] : {std::pair(2, 2), {3, 3}, {5, 2}}) {
    large_job::restarts = 0;
    // Until a loss comes after a checkpoint.
    for (int after = 100; large_job::restarts == 0 && after < 5000; after += after / 2) {
      SCOPED_TRACE(fmt::format("{} ranks in groups of {}, lost after {}", ranks, group, after));
      large_job::result = 0;
      testing::internal::CaptureStderr();
      EXPECT_EQ(run_program<large_job>(
                    {1, ranks}, {"--imbrex-checkpoint-memory=1", fmt::format("--imbrex-loopback-lose-after={}", after),
                                 fmt::format("--imbrex-checkpoint-group={}", group), "--imbrex-spare-ranks=0"}),
                0);
      testing::internal::GetCapturedStderr();
      EXPECT_EQ(large_job::result, expected);
    }
    EXPECT_GT(large_job::restarts, 0);
  }
}

TEST_F(lost_rank, is_replaced_as_long_as_there_are_spare_ones) {
  int replaced = 0;
  for (int seed = 1; seed <= 30; ++seed) {
    const int spares = 1 + seed % 3, working = 1 + seed % 4;
    const job_shape s{1 + seed % 2, working + spares, static_cast<std::uint64_t>(seed), seed % 2 * 30};
    SCOPED_TRACE(to_text(s) + fmt::format(", {} spare", spares));
    const outcome o = run_ring(s, {"--imbrex-checkpoint-memory=1", "--imbrex-loopback-lose-after=300",
                                   fmt::format("--imbrex-spare-ranks={}", spares)});
    EXPECT_EQ(o.code, 0) << o.errors;
    const std::string text =
        fmt::format("1 of {} ranks lost; the job goes on with {}, of which 1 had been spare", working, working);
    for (std::size_t at = 0; (at = o.errors.find(text, at)) != std::string::npos; ++at) ++replaced;
  }
  EXPECT_GT(replaced, 20);
}

/// Greets its neighbours by channels when it is constructed, also again.
struct linked_cell : ix::chare<linked_cell, ix::index1d> {
  linked_cell() {
    const int n = extent().x;
    to_ = ix::channel<int>(*this, array()[(index().x + 1) % n], 0, 1);
    from_ = ix::channel<int>(*this, array()[(index().x + n - 1) % n], 1, 0);
  }
  ix::task<> run(int until) {
    const int n = extent().x;
    while (step_ < until) {
      array()[(index().x + 3) % n].send<&linked_cell::arrived>(step_);
      co_await arrived(step_);
      if (++step_ % 3 == 0) migrate_to((step_ * 7919 + index().x * 104729) % 1009 % num_pes());
      co_await ix::checkpoint_point(*this);
    }
    contribute(step_, ix::sum);
  }
  ix::when<int> arrived;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & step_ & arrived;
  }

 private:
  ix::channel<int> to_, from_;
  int step_ = 0;
};

struct linked_program {
  ix::array_proxy<linked_cell> cells;
  int rounds = 0;
  ix::task<int> start(ix::runtime& rt) {
    cells = rt.create_array<linked_cell>(ix::index1d(12));
    auto rest = restart(rt);
    co_return co_await rest;
  }
  ix::task<int> restart(ix::runtime&) {
    for (; rounds < 6; ++rounds) {
      cells.broadcast<&linked_cell::run>(10 * (rounds + 1));
      const int sum = co_await cells.reduction<int>();
      if (sum != 12 * 10 * (rounds + 1)) co_return 1;
    }
    co_return 0;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & cells & rounds;
  }
};

// The home of an element whose state was still on its way was told that the element was there, and forgot where it was.
TEST_F(lost_rank, is_replaced_and_elements_are_where_they_had_moved_to) {
  int num_replaced = 0;
  for (int seed = 0; seed < 20; ++seed) {
    const job_shape s{1 + seed % 2, 5, static_cast<std::uint64_t>(seed / 4)};
    SCOPED_TRACE(to_text(s));
    testing::internal::CaptureStderr();
    const int code = run_program<linked_program>(
        s, {"--imbrex-checkpoint-memory=1", "--imbrex-spare-ranks=2", "--imbrex-loopback-lose-after=600"});
    const std::string errors = testing::internal::GetCapturedStderr();
    ASSERT_EQ(code, 0) << errors;
    num_replaced += errors.find("had been spare") != std::string::npos ? 1 : 0;
  }
  EXPECT_GT(num_replaced, 10);
}

TEST_F(lost_rank, is_replaced_in_a_job_that_changes_its_number_of_pes) {
  struct growing_ring : counted_ring {
    growing_ring() = default;
    growing_ring(int num_cells, int, int num_steps) : counted_ring(num_cells, 0, num_steps) {}
    ix::task<int> start(ix::runtime& rt) {
      rt.resize(3);
      auto rest = counted_ring::start(rt);
      co_return co_await rest;
    }
    ix::task<int> restart(ix::runtime& rt) {
      EXPECT_EQ(rt.pes_per_rank(), 3);
      auto rest = counted_ring::restart(rt);
      co_return co_await rest;
    }
  };
  for (int seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    testing::internal::CaptureStderr();
    const int code = run_program<growing_ring>(
        {1, 5, static_cast<std::uint64_t>(seed)},
        {"--imbrex-checkpoint-memory=1", "--imbrex-loopback-lose-after=1000", "--imbrex-spare-ranks=2"}, 11, 0, 300);
    EXPECT_EQ(code, 0) << testing::internal::GetCapturedStderr();
    if (code != 0) return;
    testing::internal::GetCapturedStderr();
  }
}

TEST_F(lost_rank, ends_the_job_without_checkpoints_in_memory) {
  const outcome o = run_ring({2, 3}, {"--imbrex-loopback-lose-after=50"});
  EXPECT_EQ(o.code, 70);
  EXPECT_THAT(o.errors, HasSubstr("is lost"));
  EXPECT_EQ(counted_ring::starts, 1);
}

TEST_F(lost_rank, before_the_first_checkpoint_begins_from_the_start) {
  const outcome o = run_ring({1, 2}, {"--imbrex-checkpoint-memory=1h", "--imbrex-loopback-lose-after=30"});
  EXPECT_EQ(o.code, 0) << o.errors;
  EXPECT_EQ(counted_ring::starts, 2);
  EXPECT_THAT(o.errors, HasSubstr("1 of 2 ranks lost; the job goes on with 1, from the start"));
}

TEST_F(lost_rank, takes_the_newest_of_files_where_there_is_none_in_memory) {
  folder_of_checkpoints at;
  EXPECT_EQ(run_ring({2, 3}, {at.option(), "--imbrex-checkpoint-every=1"}).code, 0);
  EXPECT_TRUE(at.has_any());
  const outcome o = run_ring({2, 3}, {at.option(), "--imbrex-checkpoint-every=1h", "--imbrex-checkpoint-memory=1h",
                                      "--imbrex-loopback-lose-after=50"});
  EXPECT_EQ(o.code, 0) << o.errors;
  EXPECT_GT(counted_ring::restarts, 0);
  EXPECT_THAT(o.errors, HasSubstr("the job goes on with 2, from " + at.path()));
}

TEST(checkpoint_memory, files_have_what_is_in_memory) {
  folder_of_checkpoints at;
  for (const job_shape& s : {job_shape{2, 1}, {2, 3}}) {
    // It ends when all is quiet, and so what was begun has been written.
    EXPECT_EQ(run_program<ring>(s, {at.option(), "--imbrex-checkpoint-every=1", "--imbrex-checkpoint-memory=1"}, 9, 0),
              0);
    EXPECT_TRUE(at.has_any());
    EXPECT_EQ(run_program<ring>({1, 2}, {"--imbrex-restart=" + at.path()}, 9, 0), 0);
  }
}

TEST(checkpoint_memory, options_that_cannot_be_are_refused) {
  for (const auto& [option, text] : {std::pair("--imbrex-checkpoint-group=4", "needs --imbrex-checkpoint-memory"),
                                     {"--imbrex-checkpoint-parity=1", "needs --imbrex-checkpoint-memory"},
                                     {"--imbrex-spare-ranks=1", "needs --imbrex-checkpoint-memory"},
                                     {"--imbrex-checkpoint-memory=often", "give a time such as 30s"}}) {
    const outcome o = run_ring({1, 2}, {option});
    EXPECT_EQ(o.code, 2);
    EXPECT_THAT(o.errors, HasSubstr(text));
  }
  const outcome o =
      run_ring({1, 2}, {"--imbrex-checkpoint-memory=1", "--imbrex-checkpoint-group=2", "--imbrex-checkpoint-parity=2"});
  EXPECT_EQ(o.code, 2);
  EXPECT_THAT(o.errors, HasSubstr("of a group of 2 ranks at most 1 can be restored"));
  const outcome all_spare = run_ring({1, 2}, {"--imbrex-checkpoint-memory=1", "--imbrex-spare-ranks=2"});
  EXPECT_EQ(all_spare.code, 2);
  command_line one_process({1, 1}, {"--imbrex-checkpoint-memory=1", "--imbrex-spare-ranks=1"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(ix::run<counted_ring>(one_process.count(), one_process.values(), 5, 0, 10), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("--imbrex-spare-ranks=1: there is one process"));
  EXPECT_THAT(all_spare.errors, HasSubstr("there are 2 ranks, of which one at least is to work"));
}

TEST(checkpoint_memory, is_for_programs_that_can_be_restarted) {
  command_line line({1, 2}, {"--imbrex-checkpoint-memory=1"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(ix::run(line.count(), line.values(), [](ix::runtime&) -> ix::task<int> { co_return 0; }), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("cannot be restarted"));
}

}  // namespace

}  // namespace lost_rank_test
