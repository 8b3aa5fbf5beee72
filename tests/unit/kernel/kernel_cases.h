#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

#include "imbrex/device/kernel/kernel.h"

namespace imbrex_test {

/// What a kernel is given: the bytes of a value, or of the memory that a pointer points to.
struct given {
  std::vector<std::byte> bytes;
  bool is_memory = false;

  template <class T>
  static given value(const T& v) {
    given g;
    g.bytes.resize(sizeof(T));
    std::memcpy(g.bytes.data(), &v, sizeof(T));
    return g;
  }
  template <class T>
  static given memory(const std::vector<T>& v) {
    given g;
    g.bytes.resize(v.size() * sizeof(T));
    std::memcpy(g.bytes.data(), v.data(), g.bytes.size());
    g.is_memory = true;
    return g;
  }
  template <class T>
  std::vector<T> as() const {
    std::vector<T> v(bytes.size() / sizeof(T));
    std::memcpy(v.data(), bytes.data(), bytes.size());
    return v;
  }
};

/// One launch, to be run on every device; the results have the same bits everywhere.
struct kernel_case {
  const imbrex::kernel_source* kernel;
  imbrex::launch_shape shape;
  std::vector<given> arguments;
};

/// Of the kernels of cases.hk, matrix.hk and together.hk.
std::vector<kernel_case> all_cases();
/// Of an inline kernel in a file that CMake was not told of.
kernel_case case_without_cuda();
/// The arguments after the launch, run group by group on this thread.
std::vector<given> run_case_on_cpu(const kernel_case& c);

inline std::string name_of(const kernel_case& c) { return c.kernel->name; }

}  // namespace imbrex_test
