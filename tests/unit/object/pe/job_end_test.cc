#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <imbrex/imbrex.h>

#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "unit/object/job.h"

namespace job_end_test {

namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;
using imbrex_test::run_and_listen;
using testing::HasSubstr;

struct ender : ix::chare<ender, ix::index1d> {
  void fail() { throw std::runtime_error("boom"); }
  void exit(int code) { rt().exit(code); }
  void exit_and_fail(int code) {
    rt().exit(code);
    fail();
  }
  /// Elements of even PEs leave, the others fail.
  void differ() { pe() % 2 == 0 ? exit(0) : fail(); }
  void leave_by_pe() { exit(10 + pe()); }
};

ix::task<int> exit_then_fail(ix::runtime& rt, int where) {
  auto enders = rt.create_group<ender>();
  enders[where].send<&ender::exit_and_fail>(0);
  co_await enders.reduction<int>();
  co_return 0;
}

ix::task<int> exit_beside_failure(ix::runtime& rt) {
  auto enders = rt.create_group<ender>();
  co_await rt.quiescence();
  enders[rt.num_pes() - 1].send<&ender::fail>();
  rt.exit(0);
  co_await enders.reduction<int>();
  co_return 0;
}

ix::task<int> half_fail(ix::runtime& rt) {
  auto enders = rt.create_group<ender>();
  co_await rt.quiescence();
  enders.broadcast<&ender::differ>();
  co_await enders.reduction<int>();
  co_return 0;
}

ix::task<int> all_leave(ix::runtime& rt) {
  auto enders = rt.create_group<ender>();
  co_await rt.quiescence();
  enders.broadcast<&ender::leave_by_pe>();
  co_await enders.reduction<int>();
  co_return 0;
}

/// The command line that asks for `s`, a trace and the costs of tasks: what ranks gather once the job has ended.
class reporting_line {
 public:
  explicit reporting_line(const job_shape& s)
      : line_(s,
              {"--imbrex-trace=" + trace_, "--imbrex-task-policy=shortest_finish", "--imbrex-task-costs=" + costs_}) {}
  ~reporting_line() {
    std::remove(trace_.c_str());
    std::remove(costs_.c_str());
  }
  imbrex_test::command_line& operator*() { return line_; }

 private:
  const std::string trace_ = testing::TempDir() + fmt::format("job_end_{}.json", getpid());
  const std::string costs_ = testing::TempDir() + fmt::format("job_end_costs_{}.json", getpid());
  imbrex_test::command_line line_;
};

template <class Start>
imbrex_test::job_outcome run_reporting(const job_shape& s, Start start) {
  reporting_line line(s);
  testing::internal::CaptureStderr();
  const int code = ix::run((*line).count(), (*line).values(), start);
  return {code, testing::internal::GetCapturedStderr()};
}

ix::task<int> never_waits(ix::runtime&) { co_return 7; }

// No message comes that the PE could notice it by.
TEST(job_end, of_a_main_chare_that_never_waits) {
  for (const job_shape& shape : {job_shape{1, 1}, job_shape{3, 1}, job_shape{1, 2}})
    EXPECT_EQ(run_and_listen(shape, never_waits).code, 7);
}

TEST(job_end, an_exit_before_a_failure_of_the_same_method_does_not_hide_it) {
  for (const job_shape& s : imbrex_test::all_shapes()) {
    SCOPED_TRACE(to_text(s));
    const auto [code, errors] = run_and_listen(s, exit_then_fail, s.pes * s.ranks - 1);
    EXPECT_EQ(code, 70);
    EXPECT_THAT(errors, HasSubstr("boom"));
  }
}

// Which comes first is open; but what was reported is also what the job ends with.
TEST(job_end, a_reported_failure_decides_the_exit_code_whatever_the_order) {
  for (const job_shape& base : {job_shape{2, 1}, {4, 1}, {1, 2}, {2, 2}, {1, 4}, {1, 5}, {1, 3, 0, 100}}) {
    for (std::uint64_t repeat = 1; repeat <= 20; ++repeat) {
      job_shape s = base;
      s.seed = s.delay_us > 0 ? repeat : 0;
      SCOPED_TRACE(to_text(s));
      const auto [code, errors] = run_reporting(s, exit_beside_failure);
      EXPECT_EQ(code, errors.empty() ? 0 : 70) << errors;
    }
  }
}

TEST(job_end, ranks_that_saw_different_ends_gather_their_reports_alike) {
  for (const job_shape& s : {job_shape{1, 2}, {2, 2}, {1, 4}, {1, 5}, {1, 3, 9, 100}}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      SCOPED_TRACE(to_text(s));
      const auto [code, errors] = run_reporting(s, half_fail);
      EXPECT_EQ(code, errors.empty() ? 0 : 70) << errors;
    }
  }
}

TEST(job_end, several_exits_give_one_of_their_codes) {
  for (const job_shape& s : {job_shape{4, 1}, {1, 4}, {2, 2}}) {
    const auto [code, errors] = run_and_listen(s, all_leave);
    EXPECT_GE(code, 10) << to_text(s);
    EXPECT_LT(code, 10 + s.pes * s.ranks) << to_text(s);
    EXPECT_EQ(errors, "");
  }
}

}  // namespace

}  // namespace job_end_test
