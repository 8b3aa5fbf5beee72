#include "imbrex/fields/field_box.h"

#include <fmt/format.h>

namespace imbrex {

std::string field_block::text() const {
  if (is_empty()) return fmt::format("no cells at {}, {}, {}", x, y, z);
  return fmt::format("cells {} to {}, {} to {}, {} to {}", x, x + cells.nx - 1, y, y + cells.ny - 1, z,
                     z + cells.nz - 1);
}

std::string field_name::text() const {
  return time ? fmt::format("{} at {} of {}", dataset, *time, file) : fmt::format("{} of {}", dataset, file);
}

field_format format_of(const std::string& file) {
  if (file.ends_with(".xdmf")) return field_format::xdmf;
  return file.ends_with(".bp") ? field_format::bp : field_format::hdf5;
}

}  // namespace imbrex
