#include "imbrex/fields/field_box.h"

#include <fmt/format.h>

namespace imbrex {

std::string field_block::text() const {
  return fmt::format("cells {} to {}, {} to {}, {} to {}", x, x + cells.nx - 1, y, y + cells.ny - 1, z,
                     z + cells.nz - 1);
}

}  // namespace imbrex
