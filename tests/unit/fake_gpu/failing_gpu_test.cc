// A GPU that fails while a chare has borrowed a message: the job ends with an error and not by std::terminate.
#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "unit/fake_gpu/cuda_fake.h"
#include "unit/object/job.h"

namespace failing_gpu_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t count = 1000;

struct pair : chare<pair, index1d> {
  task<> run() {
    channel<std::byte> other(*this, array()[1 - index().x], 0, 0, memory_kind::device);
    buffer<std::byte> out(on_device(), count), own(on_device(), count);
    streams().pack.fill(out.data(), 1, count);
    auto sent = other.send(out.view(), streams().pack);
    {
      std::optional<received<std::byte>> theirs;
      theirs.emplace(co_await other.borrow(streams().unpack));
      streams().unpack.fill(own.data(), 1, count);  // so that the end of this is no point that is known already
      if (index().x == 0) fake_cuda::refuse_events();
    }
    co_await sent;
    contribute(1, sum);
  }
};

task<int> borrow_from_each_other(imbrex::runtime& rt) {
  const auto both = rt.create_array<pair>(index1d(2));
  both.broadcast<&pair::run>();
  auto done = both.reduction<int>();
  co_return co_await done;
}

TEST(failing_gpu, ends_the_job_when_a_borrowed_message_goes) {
  for (const job_shape& s : {job_shape{1, 1}, {2, 1}}) {
    SCOPED_TRACE(to_text(s));
    fake_cuda::start({.gpus = 2});
    command_line line(s, {"--imbrex-device=cuda"});
    EXPECT_EQ(run(line.count(), line.values(), borrow_from_each_other), 70);
  }
  fake_cuda::start();
}

}  // namespace

}  // namespace failing_gpu_test
