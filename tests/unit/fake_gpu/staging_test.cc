// Large data of GPUs that go to another rank through pinned memory: little of that at a time.
#include <gmock/gmock.h>

#include <numeric>

#include "unit/fake_gpu/cuda_fake.h"
#include "unit/object/job.h"

namespace staging_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t count = 30'000'000;  // 120 MB

struct end : chare<end, index1d> {
  task<bool> exchange() {
    channel<int> other(*this, array()[1 - index()], 0, 0, memory_kind::device);
    co_await barrier();
    buffer<int> mine(on_device(), count), theirs(on_device(), count);
    std::iota(mine.data(), mine.data() + count, static_cast<int>(index().x));  // memory of a fake GPU is the host's
    stream& s = streams().compute;
    auto sent = other.send(mine.view(), s);
    co_await other.recv(theirs.view(), streams().unpack);
    co_await sent;
    co_await streams().unpack.done();
    bool good = true;
    for (std::size_t i = 0; i < count; ++i) good = good && theirs.data()[i] == static_cast<int>(i) + 1 - index().x;
    EXPECT_LE(on_device().used(memory_kind::pinned).high_water, 80U << 20) << "both directions at once";
    co_await barrier();
    co_return good;
  }
};

task<int> exchanged(runtime& rt) {
  auto both = rt.create_array<end>(index1d(2));
  auto a = both[0].call<&end::exchange>(), b = both[1].call<&end::exchange>();
  auto all = when_all(std::move(a), std::move(b));
  const auto [x, y] = co_await std::move(all);
  co_return x&& y ? 0 : 1;
}

TEST(staging, takes_little_pinned_memory_however_large_the_data) {
  fake_cuda::start();
  command_line line({1, 2}, {"--imbrex-device=cuda", "--imbrex-protocol=staged"});
  EXPECT_EQ(run(line.count(), line.values(), exchanged), 0);
}

}  // namespace

}  // namespace staging_test
