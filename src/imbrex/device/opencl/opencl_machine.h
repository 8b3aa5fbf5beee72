#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/device/opencl/opencl_context.h"
#include "imbrex/device/opencl/opencl_processor.h"

namespace imbrex {

/// A device that OpenCL shows this process.
struct opencl_found {
  cl_platform_id platform = nullptr;
  cl_device_id device = nullptr;
  std::string name;           ///< "NVIDIA H200"
  std::string platform_name;  ///< "NVIDIA CUDA"
  bool is_cpu = false;
  std::uint64_t memory_bytes = 0;  ///< all there is
  std::string why_not;             ///< imbrex cannot use it; empty: it can
};

/// The devices of OpenCL that a process uses, with a context for each.
class opencl_machine {
 public:
  /// All devices of all platforms, in the order of their numbers: those that are no CPUs, then CPUs, and last, without
  /// numbers, those that cannot be used. The first call asks, and makes the drivers start their threads. Any thread.
  static const std::vector<opencl_found>& list();
  /// How many devices can be used, and, when there are none, why and what to install.
  static int count(std::string* why_none = nullptr);

  /// Devices by their numbers in `list`. Compiled programs are kept in `cache_folder` (empty: nowhere).
  /// Throws `device_error`.
  explicit opencl_machine(const std::vector<int>& numbers,
                          const std::filesystem::path& cache_folder = opencl_program_cache::default_folder());
  ~opencl_machine();
  opencl_machine(const opencl_machine&) = delete;
  opencl_machine& operator=(const opencl_machine&) = delete;

  int num_processors() const { return static_cast<int>(processors_.size()); }
  opencl_processor& processor(int place) { return *processors_[static_cast<std::size_t>(place)]; }
  /// The device other than `p` that allocated `memory`; null: none, `memory` is its own or the host's. Cheap where
  /// there is one device.
  const opencl_processor* owner_beside(const opencl_processor& p, const void* memory) const;

 private:
  std::vector<std::unique_ptr<opencl_context>> contexts_;
  std::vector<std::unique_ptr<opencl_processor>> processors_;
};

}  // namespace imbrex
