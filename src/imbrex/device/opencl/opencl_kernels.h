#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "imbrex/device/opencl/opencl_kernel.h"
#include "imbrex/device/opencl/opencl_processor.h"

namespace imbrex {

/// The kernels that one PE has launched on one device. For that PE's thread.
class opencl_kernels {
 public:
  explicit opencl_kernels(opencl_processor& p) : processor_(p) {}
  opencl_kernels(const opencl_kernels&) = delete;
  opencl_kernels& operator=(const opencl_kernels&) = delete;

  /// The kernel of that name in the program of that text; stays where it is as long as this. The first time its program
  /// is built, if no PE has; later it costs a comparison of the texts. Throws `device_error`.
  opencl_kernel& get(const char* source, const char* options, const char* name);

 private:
  struct places {
    const char *source, *options, *name;
    bool operator==(const places&) const = default;
  };
  struct hash_of_places {
    std::size_t operator()(const places& p) const;
  };
  opencl_kernel& find_or_make(const char* source, const char* options, const char* name);

  opencl_processor& processor_;
  std::vector<std::unique_ptr<opencl_kernel>> kernels_;
  // Texts are mostly literals: known by their addresses, and then compared, for memory is used again.
  std::unordered_map<places, opencl_kernel*, hash_of_places> by_place_;
};

}  // namespace imbrex
