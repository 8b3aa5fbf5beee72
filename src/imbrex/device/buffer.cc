#include "imbrex/device/buffer.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex::detail {

void refuse_slice(std::size_t offset, std::size_t count, std::size_t size) {
  throw usage_error(
      fmt::format("a slice from element {}, of {}, of a view of {}: it has to be inside", offset, count, size));
}

}  // namespace imbrex::detail
