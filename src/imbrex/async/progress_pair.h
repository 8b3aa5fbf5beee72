#pragma once

#include "imbrex/async/progress_source.h"

namespace imbrex {

/// Two sources for a PE that looks at one: GPUs of CUDA and devices of OpenCL, say. Owns neither.
class progress_pair final : public progress_source {
 public:
  progress_pair(progress_source& first, progress_source& second) : first_(first), second_(second) {}

  void poll() override {
    first_.poll();
    second_.poll();
  }
  bool pending() const override { return first_.pending() || second_.pending(); }
  void ensure_noticed() override {
    first_.ensure_noticed();
    second_.ensure_noticed();
  }
  void let_pass() noexcept override {
    first_.let_pass();
    second_.let_pass();
  }
  bool drain(std::int64_t deadline_ns) noexcept override {
    const bool first = first_.drain(deadline_ns);
    return second_.drain(deadline_ns) && first;
  }

 private:
  progress_source& first_;
  progress_source& second_;
};

}  // namespace imbrex
