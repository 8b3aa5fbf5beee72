#include "imbrex/device/interop/opencl_native.h"

#include <fmt/format.h>

#include "imbrex/device/opencl/opencl_stream.h"

namespace imbrex::detail {

void enqueue_in_queue(stream& s, const char* name, std::function<void(_cl_command_queue*)> f) {
  if (s.on().kind() != device_kind::opencl) {
    throw usage_error(
        fmt::format("'{}' wants a queue of OpenCL, but {} is a stream of the {} device: ask s.on().kind() "
                    "before",
                    name, s.label(), to_string(s.on().kind())));
  }
  static_cast<opencl_stream&>(s).enqueue_native(name, std::move(f));
}

}  // namespace imbrex::detail
