// Whole jobs with chares on devices of OpenCL.
#include "opencl_fixture.h"
#include "opencl_jobs.h"
#include "unit/object/job.h"

namespace opencl_job_test {

namespace ix = imbrex;
using namespace imbrex_test;

namespace {

template <class Start>
int run_on_opencl(const job_shape& s, Start start, std::vector<std::string> more = {}) {
  more.push_back("--imbrex-device=opencl");
  more.push_back("--imbrex-gpus=1");
  command_line line(s, std::move(more));
  return ix::run(line.count(), line.values(), start);
}

TEST(opencl_job, channels_join_chares_of_a_process) {
  SKIP_WITHOUT_OPENCL();
  for (const job_shape& s : {job_shape{1, 1}, job_shape{3, 1}, job_shape{2, 1, 5}}) {
    SCOPED_TRACE(to_text(s));
    EXPECT_EQ(run_on_opencl(s, opencl_jobs::ring), 0);
    EXPECT_EQ(run_on_opencl(s, opencl_jobs::smoothing), 0);
  }
}

TEST(opencl_job, channels_go_through_the_host_between_ranks) {
  SKIP_WITHOUT_OPENCL();
  for (const job_shape& s : {job_shape{1, 2}, job_shape{2, 3}, job_shape{1, 3, 7, 100}}) {
    SCOPED_TRACE(to_text(s));
    for (const char* protocol : {"auto", "packed", "staged", "direct", "shared"}) {
      EXPECT_EQ(run_on_opencl(s, opencl_jobs::ring, {std::string("--imbrex-protocol=") + protocol}), 0) << protocol;
    }
    EXPECT_EQ(run_on_opencl(s, opencl_jobs::smoothing), 0);
  }
}

TEST(opencl_job, uses_all_devices) {
  SKIP_WITHOUT_OPENCL();
  const int there = static_cast<int>(ix::opencl_devices::choose(0, 0, 1).size());
  command_line line(job_shape{2 * there, 1}, {"--imbrex-device=opencl", fmt::format("--imbrex-gpus={}", there)});
  EXPECT_EQ(ix::run(line.count(), line.values(), opencl_jobs::ring), 0);
}

class starter : public ix::chare<starter, ix::index1d> {
 public:
  static constexpr std::size_t bytes = std::size_t{16} << 20;

  starter() : long_(on_device(), bytes), done_(on_device(), 1, ix::memory_kind::pinned) { *done_.data() = 0; }
  void start() {
    ix::stream& s = streams().compute;
    s.fill(long_.data(), 1, bytes);
    s.call("look", [this] { *done_.data() = 1; });
    s.fill(long_.data(), 2, bytes);
    s.copy(done_.data(), long_.data() + bytes - 1, 1);
  }
  int look() { return *static_cast<volatile unsigned char*>(done_.data()); }

 private:
  ix::buffer<unsigned char> long_, done_;
};

ix::task<int> quiet(ix::runtime& rt) {
  auto all = rt.create_array<starter>(ix::index1d(4));
  all.broadcast<&starter::start>();
  co_await rt.quiescence();
  for (int i = 0; i < 4; ++i) {
    auto looked = all[i].call<&starter::look>();
    const int done = co_await std::move(looked);
    EXPECT_EQ(done, 2) << "quiescence came while the device worked";
  }
  co_return 0;
}

class thrower : public ix::chare<thrower, ix::index1d> {
 public:
  thrower() : data_(on_device(), std::size_t{1} << 20) {}
  void begin(bool while_busy) {
    ix::stream& s = streams().compute;
    if (while_busy) s.fill(data_.data(), 1, data_.size());
    try {
      s.call("look", [] { throw ix::error("the lake is dry"); });
    } catch (const ix::error&) {
      ADD_FAILURE() << "thrown to who enqueued it";
    }
  }

 private:
  ix::buffer<unsigned char> data_;
};

ix::task<int> has_a_function_throw(ix::runtime& rt, bool while_busy) {
  rt.create_array<thrower>(ix::index1d(1)).broadcast<&thrower::begin>(while_busy);
  co_await rt.quiescence();
  co_return 0;
}

class submitter : public ix::chare<submitter, ix::index1d> {
 public:
  void submit() {
    ix::hetero_object<double> x(10);
    ix::submit({.on = ix::device_kind::opencl}, [](std::span<double> v) { v[0] = 1; }, ix::write(x));
  }
};

ix::task<int> submits_what_runs_on_the_host(ix::runtime& rt) {
  const auto all = rt.create_array<submitter>(ix::index1d(1));
  std::string said;
  try {
    auto asked = all[0].call<&submitter::submit>();
    co_await asked;
  } catch (const ix::device_error& e) {
    said = e.what();
  }
  EXPECT_NE(said.find("it has no function for opencl, where it is to run"), std::string::npos) << said;
  co_return 0;
}

TEST(opencl_job, says_that_a_task_of_the_host_does_not_run_there) {
  SKIP_WITHOUT_OPENCL();
  EXPECT_EQ(run_on_opencl({1, 1}, submits_what_runs_on_the_host), 0);
}

TEST(opencl_job, ends_by_what_a_function_in_a_stream_throws) {
  SKIP_WITHOUT_OPENCL();
  for (const bool while_busy : {false, true}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run_on_opencl({1, 1}, [while_busy](ix::runtime& rt) { return has_a_function_throw(rt, while_busy); }),
              ix::exit_code_failed_entry);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("look in the compute stream of"), std::string::npos);
  }
}

TEST(opencl_job, is_not_quiet_while_a_device_works) {
  SKIP_WITHOUT_OPENCL();
  EXPECT_EQ(run_on_opencl({2, 1}, quiet), 0);
}

ix::task<int> leave(ix::runtime& rt) {
  auto all = rt.create_array<starter>(ix::index1d(4));
  all.broadcast<&starter::start>();
  rt.exit(3);
  co_return 0;
}

TEST(opencl_job, that_ends_early_takes_no_memory_from_the_device) {
  SKIP_WITHOUT_OPENCL();
  EXPECT_EQ(run_on_opencl({2, 1}, leave), 3);
}

class writer : public ix::chare<writer, ix::index1d> {
 public:
  ix::task<> write() {
    opencl_jobs::of_opencl(streams().compute)
        .launch_program_kernel("#line 7 \"writer.cl\"\nkernel void f() { x = 1; }", "", "f", {1, 1, 1}, {1, 1, 1}, 0,
                               {});
    co_await streams().compute.done();
  }
};

ix::task<int> fail(ix::runtime& rt) {
  auto all = rt.create_array<writer>(ix::index1d(3));
  all[1].send<&writer::write>();
  co_await rt.quiescence();
  co_return 0;
}

TEST(opencl_job, that_does_not_build_its_program_names_chare_and_line) {
  SKIP_WITHOUT_OPENCL();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_on_opencl({1, 1}, fail), 70);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("writer(1)"), testing::HasSubstr("writer.cl:7")));
}

TEST(opencl_options, more_devices_than_there_are_is_one_clear_error) {
  SKIP_WITHOUT_OPENCL();
  command_line line(job_shape{1, 1}, {"--imbrex-device=opencl", "--imbrex-gpus=64"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(ix::run(line.count(), line.values(), quiet), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("64 devices of OpenCL were asked for"));
}

TEST(opencl_options, a_map_that_fits_no_device_is_one_clear_error) {
  SKIP_WITHOUT_OPENCL();
  command_line line(job_shape{2, 1}, {"--imbrex-device=opencl", "--imbrex-gpus=1", "--imbrex-gpu-map=0,5"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(ix::run(line.count(), line.values(), quiet), 2);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), testing::HasSubstr("'5'"));
}

}  // namespace

}  // namespace opencl_job_test
