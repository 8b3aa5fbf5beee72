#pragma once

#include <string>

#include "imbrex/device/kernel/kernel.h"

namespace imbrex {

class stream;

namespace detail {

/// NVIDIA's compiler for running programs: makes kernels of a text in the dialect for the GPU that they are launched
/// on. Its library, of the same CUDA as this one, is loaded when it is first asked for. For any thread.
class nvrtc {
 public:
  /// Whether its library is there.
  static bool is_there();
  /// Launches kernel `k` of `text`, compiled the first time for each kind of GPU. `text` lives as long as the process,
  /// and stands at one place. Throws `usage_error` with what the compiler says, which calls the text `shown`;
  /// `not_built` without the library; and as `cuda_launch` does.
  static void launch(stream& s, const kernel_source& k, const std::string& text, const std::string& shown,
                     const launch_shape& shape, void* const* arguments);
};

}  // namespace detail

}  // namespace imbrex
