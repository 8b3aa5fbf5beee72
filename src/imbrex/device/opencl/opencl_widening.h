#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "imbrex/device/opencl/opencl_kernel.h"

namespace imbrex {

/// Launches on one device of PoCL 4 or 5, for all PEs. PoCL keeps a kernel's code by the size of its work-groups and
/// the widest grid that it was made for, but gives it back by the size of its groups alone: when a kernel comes in a
/// wider grid than ever while another of it runs, the process ends with "found->ref_count > 0". (Mended in PoCL 6.0:
/// lib/CL/devices/common.c, pocl_release_dlhandle_cache.) So a grid that is wider than all before it runs alone; others
/// pass each other as always.
class opencl_widening {
 public:
  /// By CL_PLATFORM_NAME and CL_DRIVER_VERSION.
  static bool is_needed(std::string_view platform, std::string_view driver);

  /// Queues that kernels are launched in.
  void add(cl_command_queue q);
  void remove(cl_command_queue q);

  /// As clEnqueueNDRangeKernel in three dimensions. Blocks, for as long as what runs on the device takes, where the
  /// grid is wider than all of this kernel before it.
  cl_int launch(cl_command_queue q, const opencl_kernel& k, cl_kernel native, const std::size_t (&all)[3],
                const std::size_t (&each)[3], cl_event* end);
  int num_widened() const;

 private:
  using key = std::tuple<const opencl_program*, std::string, std::array<std::size_t, 3>>;

  mutable std::shared_mutex mutex_;  // shared: launches that fit; held alone: those that do not, and queues
  std::vector<cl_command_queue> queues_;
  std::map<key, std::size_t> widest_;
  int num_widened_ = 0;
};

}  // namespace imbrex
