#include <gtest/gtest.h>

#include "unit/device/device_bench.h"
#include "unit/object/job.h"

namespace unawaited_work_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

/// Gives its device something to do, and asks for nothing of it.
struct worker : chare<worker, index1d> {
  buffer<int> from, to;
  void work() {
    constexpr std::size_t size = 1000;
    for (buffer<int>* const b : {&from, &to}) *b = buffer<int>(on_device(), size);
    stream& s = streams().compute;
    s.fill(from.data(), 1, size * sizeof(int));
    s.copy(to.data(), from.data(), size * sizeof(int));
  }
};

task<int> let_work(runtime& rt, int rounds) {
  const auto all = rt.create_array<worker>(index1d(rt.num_pes()));
  for (int i = 0; i < rounds; ++i) {
    all.broadcast<&worker::work>();
    co_await rt.quiescence();
  }
  all.broadcast<&worker::work>();
  co_return 0;
}

struct unawaited_work : testing::TestWithParam<device_kind> {
  void SetUp() override {
    if (const std::string why = why_without(GetParam()); !why.empty()) GTEST_SKIP() << why;
  }
};

// PEs that are asked again and again whether they are quiet are never idle for long; and where one thread runs many,
// the first one asks before it comes to the others.
TEST_P(unawaited_work, lets_a_job_become_quiet_and_end) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 1}, {5, 1}, {2, 2}, {24, 1, 0, 0, true}, {6, 1, 9}}) {
    SCOPED_TRACE(to_text(s));
    command_line line(s, {std::string("--imbrex-device=") + to_string(GetParam())});
    EXPECT_EQ(imbrex::run(line.count(), line.values(), let_work, 20), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(devices, unawaited_work, testing::ValuesIn(all_device_kinds),
                         [](const auto& i) { return to_string(i.param); });

}  // namespace

}  // namespace unawaited_work_test
