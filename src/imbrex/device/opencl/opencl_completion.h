#pragma once

#include <string>
#include <vector>

#include "imbrex/async/executor.h"
#include "imbrex/async/progress_source.h"

namespace imbrex {

class opencl_stream;

/// How one PE learns what its streams of OpenCL have finished: by asking each that has work under way for the state of
/// its oldest operation. Also hands over to the driver what was enqueued since it looked last.
class opencl_completion final : public progress_source {
 public:
  explicit opencl_completion(executor& pe) : pe_(pe) {}

  /// The stream has work under way, from now until all its operations are known to have finished.
  void busy(opencl_stream& s);
  /// The stream ends; nothing of it is under way any more.
  void detach(opencl_stream& s) noexcept;

  void poll() override;
  bool pending() const override { return !busy_.empty(); }
  void ensure_noticed() override;
  void let_pass() noexcept override {}  // what waits for the PE is not in the driver yet
  bool drain(std::int64_t deadline_ns) noexcept override;

 private:
  executor& pe_;
  std::vector<opencl_stream*> busy_;
};

}  // namespace imbrex
