#pragma once

#include <memory>
#include <string>

#include "imbrex/device/opencl/opencl_api.h"
#include "imbrex/device/pool/slab_pool.h"

namespace imbrex {

/// The context of one device: what its memory, its programs and its events belong to. Not one for all devices of a
/// platform: NVIDIA's driver then refuses kernels with pointers to shared virtual memory. Any thread.
class opencl_context {
 public:
  /// Throws `device_error`.
  opencl_context(cl_platform_id platform, cl_device_id device, const std::string& name);
  ~opencl_context();
  opencl_context(const opencl_context&) = delete;
  opencl_context& operator=(const opencl_context&) = delete;

  cl_context native() const { return native_; }
  /// Host memory for copies to and from the device; its kernels do not reach it. Of a GPU's driver, which copies to and
  /// from it without a detour; of a CPU, ordinary memory.
  slab_pool& pinned() { return *pinned_; }

 private:
  cl_context native_ = nullptr;
  cl_command_queue queue_ = nullptr;  // for mapping memory
  std::unique_ptr<memory_source> pinned_source_;
  std::unique_ptr<slab_pool> pinned_;
};

}  // namespace imbrex
