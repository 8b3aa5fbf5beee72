// What a message between chares on GPUs costs is calls of the driver, some tenths of a microsecond each, and to ask
// whether an event has happened a microsecond and more: as much as a message. Here they are counted.
#include <gmock/gmock.h>

#include <string>
#include <utility>

#include "unit/fake_gpu/cuda_fake.h"
#include "unit/object/job.h"

namespace driver_calls_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t count = 4096;
constexpr int beside = 30;  // for what a job does once

struct hearer;
/// Sends on and on, and awaits no send: what it sent before has been read once an answer has come.
struct caller : chare<caller, index1d> {
  caller() : out_(on_device(), count) {}
  void open(element_proxy<hearer> to);
  task<int> run(int num_sends) {
    const auto questions = [] {
      return fake_cuda::calls_of("cudaEventQuery") + fake_cuda::calls_of("cudaStreamSynchronize");
    };
    const int before = questions();
    for (int i = 0; i < num_sends; ++i) {
      to_.send(out_.view(), streams().pack);
      co_await heard(i);
    }
    co_return questions() - before;
  }
  when<int> heard;

 private:
  buffer<std::byte> out_;
  channel<std::byte> to_;
};

struct hearer : chare<hearer> {
  void open(array_proxy<caller> from) {
    from_ = channel<std::byte>(*this, from[0], 0, 0, memory_kind::device);
    callers_ = from;
  }
  task<> run(int num_sends) {
    buffer<std::byte> in(on_device(), count);
    for (int i = 0; i < num_sends; ++i) {
      co_await from_.recv(in.view(), streams().unpack);
      callers_[0].send<&caller::heard>(i);
    }
    co_await streams().unpack.done();
  }

 private:
  channel<std::byte> from_;
  array_proxy<caller> callers_;
};

void caller::open(element_proxy<hearer> to) { to_ = channel<std::byte>(*this, to, 0, 0, memory_kind::device); }

task<int> lend_and_forget(imbrex::runtime& rt, int num_sends, int* questions) {
  const auto all = rt.create_array<caller>(index1d(1));
  const auto at = rt.create_on<hearer>(rt.num_pes() - 1);
  auto opened = all[0].call<&caller::open>(at);
  co_await std::move(opened);
  auto opened_there = at.call<&hearer::open>(all);
  co_await std::move(opened_there);
  at.send<&hearer::run>(num_sends);
  auto run = all[0].call<&caller::run>(num_sends);
  *questions = co_await std::move(run);
  co_return 0;
}

// A GPU reads what another chare's stream wrote by a point, a wait and a copy; another GPU by a kernel that waits.
TEST(driver_calls, of_a_message_that_is_received) {
  constexpr int num_sends = 1000;
  for (const job_shape& s : {job_shape{1, 1}, {2, 1}, {2, 1, 3}}) {
    SCOPED_TRACE(to_text(s));
    fake_cuda::start({.gpus = 2});
    command_line line(s, {"--imbrex-device=cuda"});
    int questions = -1;
    EXPECT_EQ(run(line.count(), line.values(), lend_and_forget, num_sends, &questions), 0);
    EXPECT_LT(questions, beside);
    for (const auto& [function, calls] : fake_cuda::calls()) EXPECT_LE(calls, num_sends + beside) << function;
    EXPECT_LE(fake_cuda::calls_of("cudaLaunchKernel"), s.pes == 1 ? 0 : num_sends);
    if (s.pes == 2) {
      EXPECT_LE(fake_cuda::calls_of("cudaEventRecord") + fake_cuda::calls_of("cudaStreamWaitEvent"), beside);
    }
    EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
  }
}

/// Exchange what is read where it is.
struct side_by_side : chare<side_by_side, index1d> {
  halo<std::byte> faces;
  task<> run(int rounds) {
    for (const auto& n : neighbours(index(), extent())) faces.connect(*this, array(), n, count);
    stream& s = streams().compute;
    co_await faces.begin(s);
    for (int i = 0; i < rounds; ++i) {
      faces.send(s);
      co_await faces.receive(s);
      co_await faces.begin(s);
      for (int k = 0; k < faces.size(); ++k) s.fill(faces.out(k).data, 1, count);  // in place of a kernel
      faces.release();
    }
    co_await s.done();
    contribute(faces.size(), sum);
  }
};

task<int> exchange(imbrex::runtime& rt, int rounds, int* num_messages) {
  const auto all = rt.create_array<side_by_side>(index1d(4));
  all.broadcast<&side_by_side::run>(rounds);
  *num_messages = co_await all.reduction<int>() * rounds;
  co_return 0;
}

// A wait for the data, none for what the other has read: it has read that before it wrote what came since.
TEST(driver_calls, of_a_halo_on_one_gpu) {
  fake_cuda::start({.gpus = 1});
  command_line line({1, 1}, {"--imbrex-device=cuda"});
  int num_messages = 0;
  EXPECT_EQ(run(line.count(), line.values(), exchange, 200, &num_messages), 0);
  EXPECT_EQ(num_messages, 6 * 200);
  EXPECT_LE(fake_cuda::calls_of("cudaStreamWaitEvent"), num_messages + beside);
  EXPECT_LE(fake_cuda::calls_of("cudaEventRecord"), 2 * 4 * 200 + beside);
  EXPECT_LE(fake_cuda::calls_of("cudaEventQuery"), beside);
  EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
}

}  // namespace

}  // namespace driver_calls_test
