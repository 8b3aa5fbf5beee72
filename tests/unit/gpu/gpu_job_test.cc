// Whole jobs with chares on GPUs.
#include <gmock/gmock.h>
#include <imbrex/imbrex.h>

#include <numeric>

#include "gpu_fixture.h"
#include "test_kernels.h"
#include "unit/object/job.h"

namespace gpu_job_test {

namespace ix = imbrex;
using namespace imbrex_test;

namespace {

template <class Start>
int run_on_gpus(const job_shape& s, Start start, std::vector<std::string> more = {}) {
  more.push_back("--imbrex-device=cuda");
  more.push_back("--imbrex-gpus=1");
  command_line line(s, std::move(more));
  return ix::run(line.count(), line.values(), start);
}

/// A ring in which each passes what came from the left, plus 1, to the right; all on GPUs.
class member : public ix::chare<member, ix::index1d> {
 public:
  static constexpr std::size_t length = 5000;
  static constexpr int rounds = 30;

  member() {
    const int n = extent().x, i = index().x;
    right_ = ix::channel<std::int64_t>(*this, array()[ix::index1d((i + 1) % n)], 0, 1, ix::memory_kind::device);
    left_ = ix::channel<std::int64_t>(*this, array()[ix::index1d((i + n - 1) % n)], 1, 0, ix::memory_kind::device);
    for (auto& b : out_) b = ix::buffer<std::int64_t>(on_device(), length);
    in_ = ix::buffer<std::int64_t>(on_device(), length);
  }

  ix::task<> pass(bool borrow) {
    ix::stream& s = streams().compute;
    s.fill(out_[0].data(), 0, length * sizeof(std::int64_t));
    multiply_add(s, out_[0].data(), length, 1, index().x);
    for (int round = 0; round < rounds; ++round) {
      ix::buffer<std::int64_t>& mine = out_[round % 2];
      ix::buffer<std::int64_t>& next = out_[(round + 1) % 2];
      auto sent = right_.send(mine.view(), s);
      if (borrow) {
        ix::received<std::int64_t> theirs = co_await left_.borrow(s);
        s.copy(next.data(), theirs.data(), length * sizeof(std::int64_t));
      } else {
        co_await left_.recv(in_.view(), s);
        s.copy(next.data(), in_.data(), length * sizeof(std::int64_t));
      }
      multiply_add(s, next.data(), length, 1, 1);
      co_await sent;  // `mine` is written in the next round
    }
    ix::buffer<std::int64_t> host(on_device(), length, ix::memory_kind::pinned);
    ix::copy(host.view(), ix::buffer_view<const std::int64_t>(out_[rounds % 2]), s);
    co_await s.done();
    const int n = extent().x;
    const std::int64_t expected = ((index().x - rounds) % n + n) % n + rounds;
    bool right = true;
    for (std::size_t i = 0; i < length; ++i) right = right && host.data()[i] == expected;
    contribute(right, ix::logical_and);
  }

 private:
  ix::channel<std::int64_t> right_, left_;
  std::array<ix::buffer<std::int64_t>, 2> out_;
  ix::buffer<std::int64_t> in_;
};

ix::task<int> ring(ix::runtime& rt) {
  EXPECT_EQ(rt.kind_of_device(), ix::device_kind::cuda);
  auto members = rt.create_array<member>(ix::index1d(7));
  for (const bool borrow : {false, true}) {
    if (borrow && rt.num_ranks() > 1) continue;
    members.broadcast<&member::pass>(borrow);
    const bool right = co_await members.reduction<bool>();
    EXPECT_TRUE(right);
  }
  co_return 0;
}

TEST(gpu_channel, passes_values_on_between_chares_of_a_gpu) {
  SKIP_WITHOUT_GPU(1);
  for (const char* mode : {"flag", "event", "callback", "sync"}) {
    for (const job_shape& s : {job_shape{1, 1}, job_shape{3, 1}, job_shape{2, 1, 5}}) {
      SCOPED_TRACE(to_text(s) + ", " + mode);
      EXPECT_EQ(run_on_gpus(s, ring, {std::string("--imbrex-completion=") + mode}), 0);
    }
  }
}

TEST(gpu_channel, goes_through_the_host_between_ranks) {
  SKIP_WITHOUT_GPU(1);
  for (const job_shape& s : {job_shape{1, 2}, job_shape{2, 3}, job_shape{1, 3, 7, 100}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_on_gpus(s, ring), 0);
  }
}

TEST(gpu_channel, joins_gpus) {
  SKIP_WITHOUT_GPU(2);
  for (const int pes : {2, 4}) {
    command_line line(job_shape{pes, 1}, {"--imbrex-device=cuda", "--imbrex-gpus=2"});
    EXPECT_EQ(ix::run(line.count(), line.values(), ring), 0);
  }
}

class starter : public ix::chare<starter, ix::index1d> {
 public:
  starter() : done_(on_device(), 1, ix::memory_kind::pinned) { *done_.data() = 0; }
  void start() { take_time(streams().compute, 30'000, done_.data()); }
  int look() { return *static_cast<volatile int*>(done_.data()); }

 private:
  ix::buffer<int> done_;
};

ix::task<int> quiet(ix::runtime& rt) {
  auto all = rt.create_array<starter>(ix::index1d(4));
  all.broadcast<&starter::start>();
  co_await rt.quiescence();
  for (int i = 0; i < 4; ++i) {
    auto looked = all[i].call<&starter::look>();
    const int done = co_await std::move(looked);
    EXPECT_EQ(done, 1) << "quiescence came while a kernel ran";
  }
  co_return 0;
}

TEST(gpu_quiescence, waits_for_work_that_nobody_awaits) {
  SKIP_WITHOUT_GPU(1);
  for (const char* mode : {"flag", "event", "callback"}) {
    EXPECT_EQ(run_on_gpus({2, 1}, quiet, {std::string("--imbrex-completion=") + mode}), 0) << mode;
  }
}

ix::task<int> leave(ix::runtime& rt) {
  auto all = rt.create_array<starter>(ix::index1d(4));
  all.broadcast<&starter::start>();
  rt.exit(3);
  co_return 0;
}

TEST(gpu_end, does_not_take_memory_from_running_kernels) {
  SKIP_WITHOUT_GPU(1);
  EXPECT_EQ(run_on_gpus({2, 1}, leave), 3);
}

class culprit : public ix::chare<culprit, ix::index1d> {
 public:
  ix::task<> misbehave() {
    write_where_nothing_is(streams().compute);
    co_await streams().compute.done();
  }
};

ix::task<int> fail(ix::runtime& rt) {
  auto all = rt.create_array<culprit>(ix::index1d(3));
  auto called = all[1].call<&culprit::misbehave>();
  co_await std::move(called);
  co_return 0;
}

TEST(gpu_failure_DeathTest, of_a_kernel_ends_the_job_and_names_it) {
  SKIP_WITHOUT_GPU(1);
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(run_on_gpus({2, 1}, fail)), testing::ExitedWithCode(70),
              "bad_write in the compute stream of .*culprit.1.");
}

/// Sends a buffer of its GPU and, unless it waits, has the GPU write it while it is lent.
class hasty : public ix::chare<hasty, ix::index1d> {
 public:
  static constexpr std::size_t length = 1 << 20;

  hasty() : values_(on_device(), length), in_(on_device(), length) {
    other_ = ix::channel<std::int64_t>(*this, array()[ix::index1d(1 - index().x)], 0, 0, ix::memory_kind::device);
  }
  ix::task<> exchange(bool waits) {
    ix::stream& s = streams().compute;
    s.fill(values_.data(), 0, length * sizeof(std::int64_t));
    for (int i = 0; i < 5; ++i) {
      auto sent = other_.send(values_.view(), s);
      if (!waits) multiply_add(s, values_.data(), length, 1, 1);
      co_await other_.recv(in_.view(), s);
      co_await sent;
      if (waits) multiply_add(s, values_.data(), length, 1, 1);
    }
    co_await s.done();
  }

 private:
  ix::buffer<std::int64_t> values_, in_;
  ix::channel<std::int64_t> other_;
};

template <bool waits>
ix::task<int> exchange(ix::runtime& rt) {
  auto both = rt.create_array<hasty>(ix::index1d(2));
  both.broadcast<&hasty::exchange>(waits);
  co_await rt.quiescence();
  co_return 0;
}

TEST(gpu_channel, memory_written_while_it_is_lent_can_be_found) {
  SKIP_WITHOUT_GPU(1);
  for (const job_shape& s : {job_shape{1, 1}, job_shape{2, 1}}) {
    EXPECT_EQ(run_on_gpus(s, exchange<true>, {"--imbrex-check-races"}), 0) << to_text(s);
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_on_gpus(s, exchange<false>, {"--imbrex-check-races"}), 70) << to_text(s);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("lent memory that was written"));
  }
}

struct thrower : ix::chare<thrower, ix::index1d> {
  ix::buffer<std::byte> data{on_device(), std::size_t{1} << 20};
  void begin(bool while_busy) {
    ix::stream& s = streams().compute;
    if (while_busy) s.fill(data.data(), 1, data.size());
    EXPECT_NO_THROW(s.call("look", [] { throw ix::error("the lake is dry"); }));
  }
};

ix::task<int> has_a_function_throw(ix::runtime& rt, bool while_busy) {
  rt.create_array<thrower>(ix::index1d(1)).broadcast<&thrower::begin>(while_busy);
  co_await rt.quiescence();
  co_return 0;
}

TEST(gpu_failure, of_a_function_in_a_stream_ends_the_job_and_names_it) {
  SKIP_WITHOUT_GPU(1);
  for (const bool while_busy : {false, true}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_on_gpus({1, 1}, [while_busy](ix::runtime& rt) { return has_a_function_throw(rt, while_busy); }), 70);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("look in the compute stream of"));
  }
}

TEST(gpu_options, more_gpus_than_there_are_is_one_clear_error) {
  SKIP_WITHOUT_GPU(1);
  command_line line(job_shape{1, 1}, {"--imbrex-device=cuda", "--imbrex-gpus=64"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(ix::run(line.count(), line.values(), quiet), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("64 GPUs were asked for"));
}

TEST(gpu_options, a_map_that_fits_no_gpu_is_one_clear_error) {
  SKIP_WITHOUT_GPU(1);
  command_line line(job_shape{2, 1}, {"--imbrex-device=cuda", "--imbrex-gpus=1", "--imbrex-gpu-map=0,5"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(ix::run(line.count(), line.values(), quiet), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("'5'"));
}

}  // namespace

}  // namespace gpu_job_test
