#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <vector>

#include "imbrex/base/clock.h"
#include "imbrex/device/buffer.h"
#include "imbrex/device/cuda/cuda_stream.h"
#include "unit/fake_gpu/cuda_fake.h"
#include "unit/gpu/gpu_fixture.h"

namespace imbrex_test {

/// The calling thread as a PE with fake GPUs.
struct fake_gpus : testing::Test {
  void TearDown() override {
    streams.clear();
    gpu.reset();
    EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
    fake_cuda::start();  // for tests that take what is there
  }
  void open(const fake_cuda::shape& s = {}, imbrex::completion_mode mode = imbrex::completion_mode::flag) {
    fake_cuda::start(s);
    open_started(mode);
  }
  void open_started(imbrex::completion_mode mode = imbrex::completion_mode::flag) {
    const int n = fake_cuda_count();
    std::vector<int> all;
    for (int i = 0; i < n; ++i) all.push_back(i);
    gpu = std::make_unique<gpu_pe>(mode, all);
    gpu->pe.queue.on_failure = [](imbrex::executor&, const std::string& report) { reported().push_back(report); };
    reported().clear();
  }

  imbrex::device& device(int i) { return *gpu->devices[static_cast<std::size_t>(i)]; }
  imbrex::cuda_stream& make(int of_gpu, const std::string& label) {
    streams.push_back(device(of_gpu).make_stream(imbrex::stream_priority::high, label));
    return static_cast<imbrex::cuda_stream&>(*streams.back());
  }
  /// A kernel that ends when `*go` is set.
  static void run_until_set(
      imbrex::cuda_stream& s, std::shared_ptr<std::atomic<bool>> go, std::function<void()> then = [] {}) {
    s.note("kernel");
    fake_cuda::launch(s.native(), [go, then] {
      while (!*go && !fake_cuda::stopping()) std::this_thread::yield();
      then();
    });
  }
  static std::vector<std::string>& reported() {
    static std::vector<std::string> all;
    return all;
  }

  std::unique_ptr<gpu_pe> gpu;
  std::vector<std::unique_ptr<imbrex::stream>> streams;

 private:
  static int fake_cuda_count() {
    int n = 0;
    static_cast<void>(cudaGetDeviceCount(&n));
    return n;
  }
};

}  // namespace imbrex_test
