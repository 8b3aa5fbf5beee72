#include "imbrex/async/trace_range.h"

#include <gtest/gtest.h>
#include <imbrex/imbrex.h>
#include <imbrex/trace/trace_summary.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "unit/object/job.h"

namespace trace_range_test {

namespace {

namespace ix = imbrex;
using imbrex_test::job_shape;

struct solver : ix::chare<solver, ix::index1d> {
  ix::task<> run(int rounds) {
    const ix::trace_range whole("solve");  // waits in between
    for (int i = 0; i < rounds; ++i) {
      assemble(i);
      array()[(index().x + 1) % extent().x].send<&solver::arrived>(i);
      co_await arrived(i);
    }
    ix::trace_mark("converged");
    contribute(1, ix::sum);
  }
  static void assemble(int i) {
    const ix::trace_range range(std::string("assemble") + (i % 2 == 0 ? " even" : " odd"));
    ix::trace_counter("round", i);
  }
  ix::when<int> arrived;
};

ix::task<int> solve(ix::runtime& rt) {
  auto solvers = rt.create_array<solver>(ix::index1d(2 * rt.num_pes()));
  const ix::trace_range all("all of it");
  solvers.broadcast<&solver::run>(4);
  const int n = co_await solvers.reduction<int>();
  EXPECT_EQ(n, 2 * rt.num_pes());
  co_return 0;
}

const ix::mark_summary& named(const std::vector<ix::mark_summary>& marks, const std::string& name) {
  static const ix::mark_summary none;
  const auto found = std::find_if(marks.begin(), marks.end(), [&](const auto& m) { return m.name == name; });
  return found == marks.end() ? none : *found;
}

TEST(trace_range, ranges_marks_and_counters_of_a_program_are_in_the_summary_of_its_trace) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 1}, {2, 2}}) {
    SCOPED_TRACE(to_text(s));
    const std::string file = testing::TempDir() + fmt::format("trace_range_{}.json", getpid());
    imbrex_test::command_line line(s, {"--imbrex-trace=" + file});
    ASSERT_EQ(ix::run(line.count(), line.values(), solve), 0);
    const ix::trace_summary summary = ix::read_trace_summary(file);
    std::remove(file.c_str());
    const auto solvers = static_cast<std::uint64_t>(2 * s.pes * s.ranks);
    EXPECT_EQ(named(summary.ranges, "solve").count, solvers);
    EXPECT_EQ(named(summary.ranges, "assemble even").count, 2 * solvers);
    EXPECT_EQ(named(summary.ranges, "assemble odd").count, 2 * solvers);
    EXPECT_EQ(named(summary.ranges, "all of it").count, 1u);
    EXPECT_EQ(named(summary.instants, "converged").count, solvers);
    EXPECT_EQ(named(summary.counters, "round").count, 4 * solvers);
    EXPECT_EQ(named(summary.counters, "round").least, 0);
    EXPECT_EQ(named(summary.counters, "round").most, 3);
    EXPECT_EQ(named(summary.counters, "round").mean(), 1.5);
  }
}

TEST(trace_range, does_nothing_without_a_trace_and_on_threads_that_are_no_pe) {
  EXPECT_EQ(imbrex_test::run_job_with({2, 1}, solve), 0);
  const ix::trace_range range("nowhere");
  ix::trace_mark("nowhere");
  ix::trace_counter("nowhere", 1);
}

}  // namespace

}  // namespace trace_range_test
