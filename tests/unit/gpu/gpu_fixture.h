#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>

#include "imbrex/device/cuda/cuda_completion.h"
#include "imbrex/device/cuda/cuda_device.h"
#include "imbrex/device/cuda/cuda_gpu.h"
#include "unit/async/bare_pe.h"

namespace imbrex_test {

/// Skips the test, with the reason, where no GPU can be used.
#define SKIP_WITHOUT_GPU(number)                                                         \
  do {                                                                                   \
    std::string why;                                                                     \
    if (imbrex::cuda_machine::count(&why) < (number))                                    \
      GTEST_SKIP() << (why.empty() ? "fewer GPUs than " + std::to_string(number) : why); \
  } while (false)

/// The calling thread as a PE that drives GPUs, without the runtime.
struct gpu_pe {
  explicit gpu_pe(imbrex::completion_mode mode, const std::vector<int>& gpus = {0}) : machine(gpus) {
    completion = std::make_unique<imbrex::cuda_completion>(pe.queue, mode, machine.pinned());
    pe.queue.devices = completion.get();
    for (int i = 0; i < machine.num_gpus(); ++i)
      devices.push_back(std::make_unique<imbrex::cuda_device>(machine, machine.gpu(i), pe.queue, *completion));
  }

  /// As a PE's loop does; what is under way is looked after at once.
  void run_until(const std::function<bool()>& done) {
    while (!done()) {
      pe.run();
      completion->ensure_noticed();
      completion->poll();
    }
  }
  void run(imbrex::task<> t) {
    started s(std::move(t));
    run_until([&] { return s.ended(); });
    if (s.failure()) std::rethrow_exception(s.failure());
  }

  bare_pe pe;
  imbrex::cuda_machine machine;
  std::unique_ptr<imbrex::cuda_completion> completion;
  std::vector<std::unique_ptr<imbrex::cuda_device>> devices;
};

}  // namespace imbrex_test
