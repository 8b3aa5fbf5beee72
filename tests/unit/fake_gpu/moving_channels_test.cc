// Chares with channels of GPU memory that go from process to process.
#include <gmock/gmock.h>

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/base/hash.h"
#include "unit/fake_gpu/cuda_fake.h"
#include "unit/object/job.h"

namespace moving_channels_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t count = 5000;

/// Each sends to the next in a ring, and moves with memory that is lent and messages that have come.
struct on_gpu : chare<on_gpu, index1d> {
  on_gpu() {
    const int n = extent().x;
    to_ = channel<std::byte>(*this, array()[(index().x + 1) % n], 0, 1, memory_kind::device);
    from_ = channel<std::byte>(*this, array()[(index().x + n - 1) % n], 1, 0, memory_kind::device);
  }
  task<int> run() {
    ++calls_;
    std::array<buffer<std::byte>, 2> out{buffer<std::byte>(on_device(), count), buffer<std::byte>(on_device(), count)};
    std::array<std::optional<channel_send>, 2> sent;
    buffer<std::byte> in(on_device(), count), seen(on_device(), count, memory_kind::pinned);
    stream_set& s = streams();
    while (step_ < 30) {
      const auto parity = static_cast<std::size_t>(step_ % 2);
      if (sent[parity]) co_await *sent[parity];
      s.pack.fill(out[parity].data(), word(index().x), count);
      sent[parity].emplace(to_.send(out[parity].view(), s.pack));
      if (parity == 0) {
        errors_ += co_await from_.recv(in.view(), s.unpack) != count;
        s.unpack.copy(seen.data(), in.data(), count);
      } else {
        const received<std::byte> theirs = co_await from_.borrow(s.unpack);
        s.unpack.copy(seen.data(), theirs.data(), count);
      }
      co_await s.unpack.done();
      const auto expected = static_cast<std::byte>(word((index().x + extent().x - 1) % extent().x));
      errors_ += seen.data()[0] != expected || seen.data()[count - 1] != expected;
      ++step_;
      const std::uint64_t r = mix(static_cast<std::uint64_t>(100 * step_ + index().x)) >> 8;
      if (r % 3 == 0) migrate_to(static_cast<int>(r / 3 % static_cast<std::uint64_t>(num_pes())));
      co_await move_point(*this);
    }
    for (auto& one : sent) {
      if (one) co_await *one;
    }
    co_return errors_;
  }
  using restartable = entry_list<&on_gpu::run>;
  int calls() { return calls_; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & step_ & errors_ & calls_;
  }

 private:
  unsigned char word(int who) const { return static_cast<unsigned char>(40 * who + step_); }

  channel<std::byte> to_, from_;
  int step_ = 0, errors_ = 0, calls_ = 0;
};

task<int> go_round(runtime& rt, int n) {
  const auto all = rt.create_array<on_gpu>(index1d(n));
  using call = decltype(all[0].call<&on_gpu::run>());
  std::vector<call> calls;
  calls.reserve(static_cast<std::size_t>(n));
  for (int i = 0; i < n; ++i) calls.push_back(all[i].call<&on_gpu::run>());
  auto runs = when_all(std::move(calls));
  int errors = 0, num_calls = 0;
  for (const int e : co_await std::move(runs)) errors += e;
  for (int i = 0; i < n; ++i) {
    auto asked = all[i].call<&on_gpu::calls>();
    num_calls += co_await std::move(asked);
  }
  EXPECT_EQ(errors, 0);
  EXPECT_GT(num_calls, n) << "none has been called again elsewhere";
  co_return 0;
}

TEST(moving_channels, go_on_in_whichever_way_the_data_of_gpus_go) {
  for (const char* way : {"auto", "packed", "staged", "direct", "shared"}) {
    for (const job_shape& s : {job_shape{1, 2}, {1, 3, 4, 30}, {2, 2}, {2, 1}, {4, 1, 3}, {3, 1}}) {
      SCOPED_TRACE(to_text(s) + ", " + way);
      fake_cuda::start();
      for (const char* strategy : {"none", "greedy"}) {
        command_line line(s, {"--imbrex-device=cuda", std::string("--imbrex-protocol=") + way,
                              std::string("--imbrex-balance=") + strategy, "--imbrex-balance-every-ms=1"});
        EXPECT_EQ(run(line.count(), line.values(), go_round, 5), 0);
      }
    }
  }
}

}  // namespace

}  // namespace moving_channels_test
