#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/device/opencl/opencl_argument.h"
#include "imbrex/device/opencl/opencl_programs.h"

namespace imbrex {

/// A kernel of one PE: its arguments are set by one thread at a time.
struct opencl_kernel {
  opencl_kernel(const opencl_program& p, std::string n, cl_kernel k) : program(&p), name(std::move(n)), native(k) {}
  ~opencl_kernel();
  opencl_kernel(const opencl_kernel&) = delete;
  opencl_kernel& operator=(const opencl_kernel&) = delete;

  /// What arguments with null pointers in these places are set in, and which is launched. NVIDIA's driver (580) refuses
  /// a null pointer in a place that has never had an address, or keeps the last address there, and refuses "no buffer"
  /// where there was an address: so what has been null in some place stays null there.
  cl_kernel for_nulls(std::span<const opencl_argument> arguments) const;

  const opencl_program* program;
  std::string name;
  cl_kernel native;  // all pointers are addresses
  cl_uint num_arguments = 0;

 private:
  mutable std::vector<std::pair<std::uint64_t, cl_kernel>> with_nulls_;  // by places, as bits
};

}  // namespace imbrex
