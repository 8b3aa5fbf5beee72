#include <vector>

#include "imbrex/device/kernel/kernel.h"
#include "imbrex/device/opencl/opencl_argument.h"
#include "imbrex/device/opencl/opencl_stream.h"

namespace imbrex::detail {

/// Of `launch`, into a stream of an OpenCL device.
void launch_opencl_kernel(stream& s, const kernel_source& k, const launch_shape& shape, void* const* arguments) {
  std::vector<opencl_argument> list{opencl_argument::local(kernel_source::opencl_local_bytes(shape))};
  list.reserve(k.arguments.size() + 1);
  for (std::size_t i = 0; i < k.arguments.size(); ++i) {
    if (k.arguments[i].what == kernel_argument::kind::value)
      list.push_back({opencl_argument::kind::value, arguments[i], k.arguments[i].bytes});
    else
      list.push_back(opencl_argument::pointer(*static_cast<void* const*>(arguments[i])));
  }
  static_cast<opencl_stream&>(s).launch_program_kernel(k.opencl_text, kernel_source::opencl_options, k.name,
                                                       shape.groups, shape.group, 0, list);
}

}  // namespace imbrex::detail
