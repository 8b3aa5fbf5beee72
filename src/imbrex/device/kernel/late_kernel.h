#pragma once

#include "imbrex/device/kernel/kernel.h"

namespace imbrex::detail {

/// What gives a kernel its forms when they are needed: it came as a text, at run time. For any thread.
class late_kernel {
 public:
  late_kernel() = default;
  late_kernel(const late_kernel&) = delete;
  late_kernel& operator=(const late_kernel&) = delete;
  virtual ~late_kernel() = default;
  /// Whether there is a compiler that could make it; nothing is compiled.
  virtual bool has_cpu() const = 0;
  virtual bool has_cuda() const = 0;
  /// Compiles it the first time. Throws `usage_error` with what the compiler says of the text, and `not_built` where
  /// there is none.
  virtual cpu_function on_cpu() = 0;
  /// The same, for the GPU of the stream.
  virtual void launch_on_cuda(stream& s, const launch_shape& shape, void* const* arguments) = 0;
};

}  // namespace imbrex::detail
