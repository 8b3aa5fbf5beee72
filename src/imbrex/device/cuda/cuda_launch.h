#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "imbrex/device/cuda/signals/cuda_mark.h"
#include "imbrex/device/kernel/launch_shape.h"
#include "imbrex/device/kernel_cost.h"

/// What a `.cu` file needs to launch its kernels. Includes nothing of coroutines, which nvcc need not read.
namespace imbrex {

class stream;

namespace detail {

/// Where a kernel's arguments lie, and how many bytes each has.
struct kernel_values {
  void** at;
  const std::size_t* bytes;
  std::size_t count;
};
template <class... P>
inline constexpr std::size_t value_bytes[] = {sizeof(P)..., 0};
template <class... P>
kernel_values values_of(void (*)(P...), void** at) {
  return {at, value_bytes<P...>, sizeof...(P)};
}

/// One launch into a stream of a CUDA device: makes that device current, and afterwards notes the kernel's name, so
/// that a failure can be laid at its door.
class cuda_launch {
 public:
  /// Throws `usage_error` when `s` is not a stream of a CUDA device. `name` has static lifetime.
  cuda_launch(stream& s, const char* name);
  /// For what is no kernel of the program's own: not in rounds that are recorded.
  cudaStream_t native() const {
    if (is_kept_) [[unlikely]]
      refuse_native();
    return native_;
  }
  /// Launches it, or has the stream of a simulated device count it or one that records keep it, and throws as `done`.
  /// With `mark` the first argument, of the kernel's own kind, tells of its end. `batch_bytes`: the only argument is a
  /// `kernel_batch` of so many bytes for each. The kernel gets as much dynamic shared memory as it asks for, if the GPU
  /// has it.
  void run(const void* function, dim3 grid, dim3 block, std::size_t shared_bytes, const kernel_values& arguments,
           std::size_t batch_bytes = 0);
  void run_marked(const void* function, dim3 grid, dim3 block, std::size_t shared_bytes,
                  const kernel_values& arguments);
  /// With which the kernel tells of its end itself.
  kernel_mark mark() const;
  /// Whether nothing is to be launched: the stream is one of a simulated device, and `run` counts what would be.
  bool is_simulated() const { return is_simulated_; }
  /// The GPU, by its place among those of the process; it is the thread's current one from then on. Not of a simulated
  /// device.
  int make_gpu_current() const;
  /// Throws `device_error` naming kernel, stream and launch configuration when the launch was refused.
  void done(cudaError_t status, dim3 grid, dim3 block, std::size_t shared_bytes);

 private:
  [[noreturn]] void refuse_native() const;
  bool allow_shared(const void* function, dim3 grid, dim3 block, std::size_t bytes);

  stream& stream_;
  const char* name_;
  const bool is_simulated_;
  bool is_kept_ = false;
  cudaStream_t native_ = nullptr;
};

/// For kernels of the dialect: `kernel` is a __global__ function.
template <class... P>
void launch_function(stream& s, const char* name, void (*kernel)(P...), const launch_shape& shape,
                     void* const* arguments) {
  cuda_launch at(s, name);
  at.run(reinterpret_cast<const void*>(kernel), dim3(shape.groups[0], shape.groups[1], shape.groups[2]),
         dim3(shape.group[0], shape.group[1], shape.group[2]), shape.shared_bytes,
         values_of(kernel, const_cast<void**>(arguments)));
}

template <class T>
struct exactly {
  using type = T;
};

}  // namespace detail

#if defined(__CUDACC__)
/// Launches `kernel` in the order of stream `s` and returns at once; what the arguments point to must live until it has
/// finished. `name`, of static lifetime, stands for it in traces and errors. `shared_bytes` may be more than 48 KiB.
/// Throws `device_error` when the launch is refused. A failure while it runs ends the job with a report that names the
/// kernel and the stream.
template <class... P>
void launch(stream& s, const char* name, void (*kernel)(P...), dim3 grid, dim3 block, std::size_t shared_bytes,
            typename detail::exactly<P>::type... arguments) {
  detail::cuda_launch at(s, name);
  void* places[] = {&arguments..., nullptr};
  const auto* function = reinterpret_cast<const void*>(kernel);
  at.run(function, grid, block, shared_bytes, detail::values_of(kernel, places));
}

/// The same for a kernel whose first parameter is a `kernel_mark`, of which every thread calls `reached()` in the end:
/// the host learns from the kernel's own last instruction that it has finished. Worth it for the last kernel before
/// something is awaited; a kernel of very many small thread blocks pays for counting them. Where completion is noticed
/// otherwise (`--imbrex-completion`), and in a graph, `reached` does nothing.
template <class... P>
void launch_marked(stream& s, const char* name, void (*kernel)(kernel_mark, P...), dim3 grid, dim3 block,
                   std::size_t shared_bytes, typename detail::exactly<P>::type... arguments) {
  detail::cuda_launch at(s, name);
  kernel_mark mark = at.mark();
  void* places[] = {&mark, &arguments...};
  const auto* function = reinterpret_cast<const void*>(kernel);
  at.run_marked(function, grid, block, shared_bytes, detail::values_of(kernel, places));
}
#endif

}  // namespace imbrex
