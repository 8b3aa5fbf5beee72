#pragma once

#include <memory>
#include <string>
#include <vector>

#include "imbrex/device/opencl_api.h"
#include "imbrex/device/slab_pool.h"

namespace imbrex {

class opencl_processor;

/// The devices of one platform that this process uses: they reach each other's memory and wait for each other's events.
/// Any thread.
class opencl_context {
 public:
  /// Throws `device_error`.
  opencl_context(cl_platform_id platform, const std::vector<cl_device_id>& devices, std::string name);
  ~opencl_context();
  opencl_context(const opencl_context&) = delete;
  opencl_context& operator=(const opencl_context&) = delete;

  cl_context native() const { return native_; }
  /// Of its platform: "NVIDIA CUDA".
  const std::string& name() const { return name_; }
  /// Host memory for copies to and from the devices; their kernels do not reach it. Of a GPU's driver, which copies to
  /// and from it without a detour; where all devices are CPUs, ordinary memory.
  slab_pool& pinned() { return *pinned_; }

  /// A device's memory lies in its pool; the device tells when it comes and before it goes.
  void add(const opencl_processor& p) { processors_.push_back(&p); }
  void remove(const opencl_processor& p) noexcept { std::erase(processors_, &p); }
  /// Whether `memory` was allocated by a device of this context, so that its kernels may use it.
  bool has(const void* memory) const;

 private:
  const std::string name_;
  cl_context native_ = nullptr;
  cl_command_queue queue_ = nullptr;  // for mapping memory
  std::vector<const opencl_processor*> processors_;
  std::unique_ptr<memory_source> pinned_source_;
  std::unique_ptr<slab_pool> pinned_;
};

}  // namespace imbrex
