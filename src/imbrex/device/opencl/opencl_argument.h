#pragma once

#include <cstddef>
#include <cstdint>

namespace imbrex {

/// One argument of a kernel of OpenCL, for `opencl_stream::launch_program_kernel`. Owns nothing: what `data` points to
/// is read before that returns (of a pointer only the pointer itself).
struct opencl_argument {
  enum class kind {
    pointer,  ///< `data`: an address in memory that the device allocated, also in the middle of it; null is allowed
    value,    ///< `data`: the bytes of a number or struct of `size` bytes, laid out as OpenCL C has them
    local,    ///< `size` bytes of local memory for each work group, uninitialised; `data` is not looked at
  };

  kind what = kind::value;
  const void* data = nullptr;
  std::size_t size = 0;  ///< bytes; not looked at for a pointer

  static opencl_argument pointer(const void* p) { return {kind::pointer, p, 0}; }
  template <class T>
  static opencl_argument value(const T& v) {
    return {kind::value, &v, sizeof(T)};
  }
  static opencl_argument local(std::size_t bytes) { return {kind::local, nullptr, bytes}; }
};

}  // namespace imbrex
