#include "imbrex/device/cuda/cuda_launch.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/device/cuda/cuda_stream.h"

namespace imbrex {

namespace detail {

cuda_launch::cuda_launch(stream& s, const char* name) : stream_(s), name_(name), is_simulated_(s.is_simulated()) {
  if (s.on().kind() != device_kind::cuda) {
    throw usage_error(fmt::format("kernel '{}' of CUDA was launched into {} of the {} device: use stream::call there",
                                  name, s.label(), to_string(s.on().kind())));
  }
  if (is_simulated_) return;
  auto& of_gpu = static_cast<cuda_stream&>(s);
  is_kept_ = of_gpu.is_recording();
  if (is_kept_) [[unlikely]]
    return;
  of_gpu.gpu().make_current();
  of_gpu.note(name, trace_category::kernel);
  native_ = of_gpu.native();
}

void cuda_launch::refuse_native() const { static_cast<cuda_stream&>(stream_).refuse_in_rounds(name_); }

void cuda_launch::run(const void* function, dim3 grid, dim3 block, std::size_t shared_bytes,
                      const kernel_values& arguments, std::size_t batch_bytes) {
  const auto shape = [&] { return launch_shape{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes}; };
  if (is_simulated_) return stream_.launched(name_, shape(), nullptr);
  if (shared_bytes > std::size_t{48} * 1024 && !allow_shared(function, grid, block, shared_bytes)) return;
  if (is_kept_) [[unlikely]]
    return static_cast<cuda_stream&>(stream_).keep_kernel(name_, function, shape(), arguments, batch_bytes);
  done(cudaLaunchKernel(function, grid, block, arguments.at, shared_bytes, native_), grid, block, shared_bytes);
}

int cuda_launch::make_gpu_current() const {
  const cuda_gpu& gpu = static_cast<cuda_stream&>(stream_).gpu();
  gpu.make_current();
  return gpu.number();
}

/// More than what every kernel may have. False, after the error has been noted, if it is too much.
bool cuda_launch::allow_shared(const void* function, dim3 grid, dim3 block, std::size_t bytes) {
  make_gpu_current();
  const cudaError_t status =
      cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (status == cudaSuccess) [[likely]]
    return true;
  done(status, grid, block, bytes);
  return false;
}

void cuda_launch::run_marked(const void* function, dim3 grid, dim3 block, std::size_t shared_bytes,
                             const kernel_values& arguments) {
  run(function, grid, block, shared_bytes, arguments);
  if (!is_simulated_ && !is_kept_) static_cast<cuda_stream&>(stream_).marked();
}

kernel_mark cuda_launch::mark() const {
  return is_simulated_ || is_kept_ ? kernel_mark{} : static_cast<cuda_stream&>(stream_).mark();
}

void cuda_launch::done(cudaError_t status, dim3 grid, dim3 block, std::size_t shared_bytes) {
  if (is_simulated_)
    throw usage_error(fmt::format("'{}' is done by a library of CUDA's, which a simulated GPU does not run", name_));
  if (status == cudaSuccess) [[likely]] {
    static_cast<cuda_stream&>(stream_).noted();
    return;
  }
  const std::string what = fmt::format(
      "launching kernel '{}' with a grid of {} x {} x {}, blocks of {} x {} x {} threads and {} bytes of "
      "shared memory",
      name_, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes);
  static_cast<cuda_stream&>(stream_).check(status, what.c_str());
}

}  // namespace detail

}  // namespace imbrex
