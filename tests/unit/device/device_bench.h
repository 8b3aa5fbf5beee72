#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/async/progress_source.h"
#include "imbrex/base/build_config.h"
#include "imbrex/device/host/host_device.h"
#include "unit/async/bare_pe.h"
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/cuda_device.h"
#endif
#if IMBREX_HAVE_OPENCL
#include "imbrex/device/opencl/opencl_device.h"
#endif

namespace imbrex_test {

inline constexpr std::array all_device_kinds{imbrex::device_kind::host, imbrex::device_kind::cuda,
                                             imbrex::device_kind::opencl};

/// Why no device of this kind can be used here; empty: one can.
inline std::string why_without(imbrex::device_kind k) {
  std::string why;
  if (k == imbrex::device_kind::cuda) {
#if IMBREX_HAVE_CUDA
    imbrex::cuda_machine::count(&why);
#else
    why = "this build has no CUDA";
#endif
  } else if (k == imbrex::device_kind::opencl) {
#if IMBREX_HAVE_OPENCL
    imbrex::opencl_machine::count(&why);
#else
    why = "this build has no OpenCL";
#endif
  }
  return why;
}

/// The calling thread as a PE with the first device of a kind, without the runtime.
class device_bench {
 public:
  explicit device_bench(imbrex::device_kind k) {
    switch (k) {
      case imbrex::device_kind::host: device_ = std::make_unique<imbrex::host_device>(pe.queue, 0, host_memory_); break;
      case imbrex::device_kind::cuda: use_cuda(); break;
      case imbrex::device_kind::opencl: use_opencl(); break;
    }
  }

  imbrex::device& on() { return *device_; }
  std::unique_ptr<imbrex::stream> make(imbrex::stream_priority p = imbrex::stream_priority::low) {
    return on().make_stream(p, "the stream of a test");
  }
  /// As a PE's loop does; what is under way is looked after at once.
  void run_until(const std::function<bool()>& done) {
    while (!done()) {
      pe.run();
      if (pe.queue.devices == nullptr) continue;
      pe.queue.devices->ensure_noticed();
      pe.queue.devices->poll();
    }
  }
  void run(imbrex::task<> t) {
    started s(std::move(t));
    run_until([&] { return s.ended(); });
    if (s.failure()) std::rethrow_exception(s.failure());
  }
  void finish(imbrex::stream& s) { run(wait_for(&s)); }

  bare_pe pe;

 private:
  static imbrex::task<> wait_for(imbrex::stream* s) { co_await s->done(); }

  void use_cuda() {
#if IMBREX_HAVE_CUDA
    gpus_ = std::make_unique<imbrex::cuda_machine>(std::vector<int>{0});
    auto completion =
        std::make_unique<imbrex::cuda_completion>(pe.queue, imbrex::completion_mode::flag, gpus_->pinned());
    device_ = std::make_unique<imbrex::cuda_device>(*gpus_, gpus_->gpu(0), pe.queue, *completion);
    pe.queue.devices = completion.get();
    completion_ = std::move(completion);
#endif
  }
  void use_opencl() {
#if IMBREX_HAVE_OPENCL
    machine_ = std::make_unique<imbrex::opencl_machine>(std::vector<int>{0}, "");
    auto completion = std::make_unique<imbrex::opencl_completion>(pe.queue);
    device_ = std::make_unique<imbrex::opencl_device>(*machine_, machine_->processor(0), pe.queue, *completion);
    pe.queue.devices = completion.get();
    completion_ = std::move(completion);
#endif
  }

  imbrex::host_memory host_memory_;
#if IMBREX_HAVE_CUDA
  std::unique_ptr<imbrex::cuda_machine> gpus_;
#endif
#if IMBREX_HAVE_OPENCL
  std::unique_ptr<imbrex::opencl_machine> machine_;
#endif
  std::unique_ptr<imbrex::progress_source> completion_;
  std::unique_ptr<imbrex::device> device_;
};

}  // namespace imbrex_test
