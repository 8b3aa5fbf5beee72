#include <gmock/gmock.h>

#include <numeric>

#include "unit/object/job.h"

namespace one_sided_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t length = 50'000;

struct owner : chare<owner, index1d> {
  owner() : memory_(length, -1.0), exposed_(buffer_view<double>(memory_), on_host()) {}

  global_pointer<double> where() const { return exposed_.pointer(); }

  // Puts a part into each of the others' memory, long and short ones, and reads them back.
  task<> exchange() {
    const int n = extent();
    const auto part = length / static_cast<std::size_t>(n);
    stream& s = streams().pack;
    int right = 0;
    for (int other = 0; other < n; ++other) {
      auto asked = array()[other].call<&owner::where>();
      const global_pointer<double> there = co_await std::move(asked);
      for (const std::size_t count : {std::size_t{1}, part}) {
        const auto first = static_cast<std::size_t>(index()) * part;
        std::vector<double> mine(count);
        std::iota(mine.begin(), mine.end(), 1000.0 * index() + other);
        auto moved = put(there.slice(first, count), buffer_view<const double>(mine), s);
        co_await moved;
        std::vector<double> back(count, -5.0);
        auto got = get(there.slice(first, count), buffer_view<double>(back), s);
        co_await got;
        right += back == mine ? 1 : 0;
      }
    }
    auto met = barrier();
    co_await std::move(met);
    bool whole = true;
    for (int other = 0; other < n; ++other) {
      for (std::size_t i = 0; i < part; ++i)
        whole = whole && memory_[static_cast<std::size_t>(other) * part + i] ==
                             1000.0 * other + index() + static_cast<double>(i);
    }
    contribute(right == 2 * n && whole ? 1 : 0, sum);
  }

  void told(int from, std::size_t at) {
    if (memory_[at] == from + 0.25) ++num_told_;
    if (num_told_ == extent()) contribute(1, sum);
  }
  task<> tell() {
    const double value = index() + 0.25;
    for (int other = 0; other < extent(); ++other) {
      auto asked = array()[other].call<&owner::where>();
      const global_pointer<double> there = co_await std::move(asked);
      const auto at = static_cast<std::size_t>(index());
      const buffer_view<const double> one(&value, 1, memory_kind::host);
      auto moved =
          put_and_tell<&owner::told>(there.slice(at, 1), one, &streams().pack, array()[other], int(index()), at);
      co_await moved;
    }
  }

  task<> beyond() {
    std::vector<double> mine(10);
    auto moved = put(exposed_.pointer().slice(0, 5), buffer_view<const double>(mine), streams().pack);
    co_await moved;
  }
  void close() { exposed_ = exposed<double>(); }
  task<> too_late() {
    auto asked = array()[1].call<&owner::where>();
    const global_pointer<double> there = co_await std::move(asked);
    auto closed = array()[1].call<&owner::close>();
    co_await std::move(closed);
    std::vector<double> mine(10);
    auto got = get(there.slice(0, 10), buffer_view<double>(mine), streams().pack);
    co_await got;
  }
  /// What is refused is handled: the job goes on, and ends.
  task<> put_too_late(std::size_t count) {
    auto asked = array()[1].call<&owner::where>();
    const global_pointer<double> there = co_await std::move(asked);
    auto closed = array()[1].call<&owner::close>();
    co_await std::move(closed);
    std::vector<double> mine(count);
    std::string said;
    try {
      auto moved = put(there.slice(0, count), buffer_view<const double>(mine), streams().pack);
      co_await moved;
    } catch (const usage_error& e) {
      said = e.what();
    }
    EXPECT_THAT(said, testing::HasSubstr("exposed no more"));
  }

 private:
  std::vector<double> memory_;
  exposed<double> exposed_;
  int num_told_ = 0;
};

task<int> exchanged(runtime& rt) {
  auto all = rt.create_array<owner>(index1d(4));
  all.broadcast<&owner::exchange>();
  co_return co_await all.reduction<int>() == 4 ? 0 : 1;
}

task<int> told(runtime& rt) {
  auto all = rt.create_array<owner>(index1d(4));
  all.broadcast<&owner::tell>();
  co_return co_await all.reduction<int>() == 4 ? 0 : 1;
}

task<int> put_too_late(runtime& rt, std::size_t count) {
  auto all = rt.create_array<owner>(index1d(2));
  co_await all[0].call<&owner::put_too_late>(count);
  co_return 0;
}

template <auto M>
task<int> broken(runtime& rt) {
  auto all = rt.create_array<owner>(index1d(2));
  all[0].send<M>();
  co_await rt.quiescence();
  co_return 0;
}

TEST(one_sided, puts_and_gets_whole_data) {
  run_over_all_shapes(exchanged);
  for (const char* protocol : {"packed", "direct", "staged"}) {
    command_line line({2, 2}, {std::string("--imbrex-protocol=") + protocol});
    EXPECT_EQ(imbrex::run(line.count(), line.values(), exchanged), 0) << protocol;
  }
}
TEST(one_sided, tells_the_other_side_when_the_data_are_there) { run_over_all_shapes(told); }

TEST(one_sided, what_does_not_fit_is_a_named_error) {
  const job_outcome o = run_and_listen({1, 1}, &broken<&owner::beyond>);
  EXPECT_EQ(o.code, 70);
  EXPECT_THAT(o.errors, testing::HasSubstr("a put of 10 elements to 5"));
}
TEST(one_sided, memory_that_is_exposed_no_more_is_a_named_error) {
  for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}}) {
    const job_outcome o = run_and_listen(s, &broken<&owner::too_late>);
    EXPECT_EQ(o.code, 70) << to_text(s);
    EXPECT_THAT(o.errors, testing::HasSubstr("exposed no more")) << to_text(s);
  }
}

TEST(one_sided, a_refused_put_gives_its_memory_back) {
  for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}, {1, 2, 3, 50}}) {
    for (const std::size_t count : {std::size_t{10}, length}) EXPECT_EQ(run_job_with(s, put_too_late, count), 0);
  }
}

}  // namespace

}  // namespace one_sided_test
