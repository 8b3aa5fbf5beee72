#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "imbrex/device/device.h"
#include "imbrex/device/opencl/opencl_context.h"
#include "imbrex/device/opencl/opencl_programs.h"
#include "imbrex/device/opencl/opencl_widening.h"
#include "imbrex/device/pool/slab_pool.h"

namespace imbrex {

/// One device of OpenCL (a GPU, or by PoCL the CPU), shared by all PEs: its memory and its programs. Any thread.
///
/// Its memory is coarse-grained shared virtual memory of its context: addresses that kernels and copies use like the
/// host's pointers, but which the host itself never reads or writes.
class opencl_processor {
 public:
  /// `number` is its number among all devices, `place` that among those of its machine. Throws `device_error`.
  opencl_processor(opencl_context& context, cl_device_id device, int number, int place,
                   const std::filesystem::path& cache_folder);
  ~opencl_processor();
  opencl_processor(const opencl_processor&) = delete;
  opencl_processor& operator=(const opencl_processor&) = delete;

  opencl_context& context() const { return context_; }
  int number() const { return number_; }
  int place() const { return place_; }
  const std::string& name() const { return name_; }
  /// "OpenCL device 0 (NVIDIA H200)"
  std::string full_name() const;
  /// Its memory, and of a CPU what is free of it: of others OpenCL does not tell what is taken.
  memory_info memory() const;
  /// Memory of the device, from large slabs that are kept.
  slab_pool& pool() const { return *pool_; }
  opencl_programs& programs() { return *programs_; }

  /// An in-order queue; where the driver takes hints, one of that priority. Throws `device_error`.
  cl_command_queue make_queue(stream_priority p) const;
  void release_queue(cl_command_queue q) const;
  /// Enqueues `native`, which is `k` of the calling PE, in three dimensions; may block where the driver needs it (see
  /// `opencl_widening`).
  cl_int launch(cl_command_queue q, const opencl_kernel& k, cl_kernel native, const std::size_t (&all)[3],
                const std::size_t (&each)[3], cl_event* end) const {
    if (widening_ != nullptr) [[unlikely]]
      return widening_->launch(q, k, native, all, each, end);
    return clEnqueueNDRangeKernel(q, native, 3, nullptr, all, each, 0, nullptr, end);
  }
  /// From now on as with a driver that needs it; before any queue is made. For tests.
  const opencl_widening& let_wider_launches_run_alone();
  /// Whether `memory` lies in its pool, so that its kernels may use it.
  bool owns(const void* memory) const { return static_cast<bool>(pool_->slab_of(memory)); }
  /// Copies to the host and blocks; throws `device_error`.
  void read(void* to, const void* from, std::size_t bytes) const;
  /// Starts a copy between its memory and the host's, for a stream of another device, which waits for the event and
  /// gives it back. Throws `device_error`.
  cl_event start_copy(void* to, const void* from, std::size_t bytes) const;

 private:
  opencl_context& context_;
  const cl_device_id device_;
  const int number_;
  const int place_;
  std::string name_;
  bool is_cpu_ = false;
  bool takes_priorities_ = false;
  std::uint64_t total_bytes_ = 0;
  cl_command_queue reading_ = nullptr;
  std::unique_ptr<memory_source> source_;
  std::unique_ptr<slab_pool> pool_;
  std::unique_ptr<opencl_programs> programs_;
  std::unique_ptr<opencl_widening> widening_;  // null: the driver does not need it
};

}  // namespace imbrex
