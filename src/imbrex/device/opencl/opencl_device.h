#pragma once

#include <memory>
#include <string>

#include "imbrex/async/executor.h"
#include "imbrex/device/device.h"
#include "imbrex/device/opencl/opencl_completion.h"
#include "imbrex/device/opencl/opencl_kernels.h"
#include "imbrex/device/opencl/opencl_machine.h"

namespace imbrex {

/// One PE's handle of one device of OpenCL. Several PEs may drive the same device, each with streams of its own, and
/// one PE several.
///
/// Its own memory is never touched by the host but by copies. Its pinned memory is host memory that copies reach and
/// kernels do not (opencl_context.h).
class opencl_device final : public device {
 public:
  opencl_device(opencl_machine& machine, opencl_processor& processor, executor& pe, opencl_completion& completion)
      : machine_(machine), processor_(processor), pe_(pe), completion_(completion), kernels_(processor) {}

  device_kind kind() const override { return device_kind::opencl; }
  int number() const override { return processor_.number(); }
  std::string name() const override { return processor_.name(); }
  /// `free` is what this process has not taken: OpenCL does not tell of others.
  memory_info memory() const override;
  memory_kind allocates() const override { return memory_kind::device; }
  void* allocate(std::size_t bytes, memory_kind kind) override;
  void free(void* memory, std::size_t bytes, memory_kind kind) noexcept override;
  memory_usage used(memory_kind kind) const override;
  void read_now(void* to, const void* from, std::size_t bytes, const event& e) override;
  std::unique_ptr<stream> make_stream(stream_priority p, std::string label) override;
  /// Only itself: its streams copy from and to others by way of the host.
  bool reaches(const device& other) const override;

  opencl_machine& machine() const { return machine_; }
  opencl_processor& processor() const { return processor_; }
  executor& pe() const { return pe_; }
  opencl_completion& completion() const { return completion_; }
  opencl_kernels& kernels() { return kernels_; }

 private:
  slab_pool& pool(memory_kind kind) const;

  opencl_machine& machine_;
  opencl_processor& processor_;
  executor& pe_;
  opencl_completion& completion_;
  opencl_kernels kernels_;
};

}  // namespace imbrex
