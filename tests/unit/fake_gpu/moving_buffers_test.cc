// Buffers of chares that move between PEs which drive different GPUs, of one process and of several.
#include <gmock/gmock.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "imbrex/base/hash.h"
#include "imbrex/device/interop/cuda_native.h"
#include "unit/fake_gpu/cuda_fake.h"
#include "unit/object/job.h"

namespace moving_buffers_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t count = 3000;

/// Writes a pattern, moves, and looks whether it came along, in the memory of the GPU that its new PE drives.
struct holder : chare<holder, index1d> {
  holder() = default;

  task<int> run() {
    if (fields_.empty()) {
      fields_.emplace_back(on_device(), count);
      fields_.emplace_back(on_device(), 0);
      seen_ = buffer<std::uint32_t>(on_device(), count, memory_kind::pinned);
    }
    stream_set& s = streams();
    while (step_ < 12) {
      const auto word = static_cast<unsigned char>(7 * step_ + index().x);
      s.compute.fill(fields_[0].data(), word, count * sizeof(double));
      std::fill_n(seen_.data(), count, word);
      co_await s.compute.done();
      ++step_;
      const std::uint64_t r = mix(static_cast<std::uint64_t>(100 * step_ + index().x)) >> 8;
      migrate_to(static_cast<int>(r % static_cast<std::uint64_t>(num_pes())));
      co_await move_point(*this);
      check();
    }
    co_return errors_;
  }
  using restartable = entry_list<&holder::run>;

  void has_moved(int) {
    ++moves_;
    check();
  }
  int moves() { return moves_; }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & step_ & errors_ & moves_ & fields_ & seen_;
  }

 private:
  void check() {
    const auto word = static_cast<unsigned char>(7 * (step_ - 1) + index().x);
    const auto* const bytes =
        reinterpret_cast<const unsigned char*>(fields_[0].data());  // the host's, as all of a fake
    errors_ += fields_.size() != 2 || fields_[0].size() != count || fields_[1].size() != 0;
    errors_ += bytes[0] != word || bytes[count * sizeof(double) - 1] != word;
    errors_ += seen_.size() != count || seen_.data()[0] != word || seen_.data()[count - 1] != word;
    errors_ += fields_[0].kind() != memory_kind::device || seen_.kind() != memory_kind::pinned;
    errors_ += fields_[0].on()->number() != on_device().number() || seen_.on()->number() != on_device().number();
  }

  std::vector<buffer<double>> fields_;
  buffer<std::uint32_t> seen_;
  int step_ = 0, errors_ = 0, moves_ = 0;
};

task<int> move_about(runtime& rt, int* moves) {
  constexpr int elements = 6;
  const auto all = rt.create_array<holder>(index1d(elements));
  using call = decltype(all[0].call<&holder::run>());
  std::vector<call> calls;
  calls.reserve(elements);
  for (int i = 0; i < elements; ++i) calls.push_back(all[i].call<&holder::run>());
  auto runs = when_all(std::move(calls));
  for (const int errors : co_await std::move(runs)) EXPECT_EQ(errors, 0);
  for (int i = 0; i < elements; ++i) {
    auto asked = all[i].call<&holder::moves>();
    *moves += co_await std::move(asked);
  }
  co_return 0;
}

/// Never waits for the stream that it has made, which is busy whenever it comes to a point.
struct busy : chare<busy, index1d> {
  busy() : own_(on_device().make_stream(stream_priority::low, "its own")), field_(on_device(), count) {}
  task<int> run() {
    for (; pe() == 0 && num_points_ < 1000; ++num_points_) {
      enqueue_native(*own_, "a kernel", [](cudaStream_t native) {
        fake_cuda::launch(native, [] { std::this_thread::sleep_for(std::chrono::microseconds(300)); });
      });
      own_->fill(field_.data(), static_cast<unsigned char>(num_points_), count * sizeof(double));
      if (num_points_ == 2) migrate_to(num_pes() - 1);
      co_await move_point(*this);
    }
    co_return num_points_;
  }
  using restartable = entry_list<&busy::run>;
  void has_moved(int) {
    EXPECT_EQ(*reinterpret_cast<const unsigned char*>(field_.data()), static_cast<unsigned char>(num_points_));
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & num_points_ & field_;
  }

 private:
  std::unique_ptr<stream> own_;
  buffer<double> field_;
  int num_points_ = 0;
};

task<int> move_while_busy(runtime& rt) {
  const auto all = rt.create_array<busy>(index1d(1));
  auto ran = all[0].call<&busy::run>();
  EXPECT_EQ(co_await std::move(ran), 2);
  co_return 0;
}

TEST(moving_buffers, follow_when_what_a_stream_of_the_chare_does_with_them_is_over) {
  for (const job_shape& s : {job_shape{2, 1}, {1, 2}, {2, 2, 5}}) {
    SCOPED_TRACE(to_text(s));
    fake_cuda::start({.gpus = 2});
    command_line line(s, {"--imbrex-device=cuda"});
    EXPECT_EQ(run(line.count(), line.values(), move_while_busy), 0);
    EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
  }
}

// Whichever way the data of messages go, and where one PE after the other is left while its buffers are being read.
TEST(moving_buffers, follow_from_process_to_process) {
  for (const job_shape& s : {job_shape{1, 2}, {2, 2, 5}, {1, 5, 3}, {2, 2, 9, 200}}) {
    for (const std::string way : {"auto", "packed", "staged", "direct", "shared"}) {
      for (const bool apart : {false, true}) {
        SCOPED_TRACE(to_text(s) + ", " + way + (apart ? ", GPUs that do not reach each other" : ""));
        fake_cuda::start({.gpus = 2});
        if (apart) {
          fake_cuda::separate(0, 1);
          fake_cuda::separate(1, 0);
        }
        int moves = 0;
        command_line line(s, {"--imbrex-device=cuda", "--imbrex-protocol=" + way});
        EXPECT_EQ(run(line.count(), line.values(), move_about, &moves), 0);
        EXPECT_GT(moves, 6);
        EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
      }
    }
  }
}

TEST(moving_buffers, follow_from_gpu_to_gpu) {
  for (const job_shape& s : {job_shape{2, 1}, {4, 1}, {3, 1, 7}, {2, 2, 5}}) {
    for (const bool apart : {false, true}) {
      SCOPED_TRACE(to_text(s) + (apart ? ", GPUs that do not reach each other" : ""));
      fake_cuda::start({.gpus = 2});
      if (apart) {
        fake_cuda::separate(0, 1);
        fake_cuda::separate(1, 0);
      }
      int moves = 0;
      command_line line(s, {"--imbrex-device=cuda"});
      EXPECT_EQ(run(line.count(), line.values(), move_about, &moves), 0);
      EXPECT_GT(moves, 6);
      EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
      // One for each buffer that changes its GPU; none comes to the host and goes back.
      if (s.ranks == 1) {
        EXPECT_LE(fake_cuda::calls_of("cudaMemcpyAsync"), moves);
        EXPECT_GT(fake_cuda::calls_of("cudaMemcpyAsync"), 0);
      }
    }
  }
}

}  // namespace

}  // namespace moving_buffers_test
