#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "imbrex/device/opencl/opencl_api.h"
#include "imbrex/device/opencl/opencl_program_cache.h"

namespace imbrex {

/// A program that was built for one device.
struct opencl_program {
  std::string source, options;
  cl_program native = nullptr;
};

/// The programs of one device, each built once: from memory, from a file of an earlier run, or by the driver's
/// compiler. Any thread. Building takes the driver milliseconds to seconds, for which all callers wait; it happens at
/// the first launch of a program's kernels.
class opencl_programs {
 public:
  /// `name` is the device's in messages, "OpenCL device 0 (NVIDIA H200)". A program whose text includes files is not
  /// built again when those change: pass whole texts.
  opencl_programs(cl_context context, cl_device_id device, std::string name, std::filesystem::path cache_folder);
  ~opencl_programs();
  opencl_programs(const opencl_programs&) = delete;
  opencl_programs& operator=(const opencl_programs&) = delete;

  /// Stays where it is as long as this. The text may have kernels of the dialect (kernel_text.h). Throws `device_error`
  /// with the compiler's log, whose lines are those of the source text, or what its #line directives say.
  const opencl_program& get(std::string_view source, std::string_view options);

  struct usage {
    std::uint64_t compiled = 0;   ///< by the driver from its source
    std::uint64_t from_file = 0;  ///< loaded
    std::uint64_t from_memory = 0;
  };
  usage used() const;
  const opencl_program_cache& cache() const { return cache_; }
  /// What the files of this device's programs are known by.
  opencl_program_cache::program key(std::string_view source, std::string_view options) const;

 private:
  cl_program load(const opencl_program_cache::program& key);
  cl_program compile(const opencl_program_cache::program& key);
  std::vector<unsigned char> binary_of(cl_program p) const;

  const cl_context context_;
  const cl_device_id device_;
  const std::string name_;
  const opencl_program_cache cache_;
  std::string device_name_, driver_;
  mutable std::mutex mutex_;
  std::unordered_multimap<std::uint64_t, std::unique_ptr<opencl_program>> programs_;  // by hash
  usage usage_;
};

}  // namespace imbrex
