#include "imbrex/fields/read_field.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/fields/field_files.h"
#include "imbrex/fields/file_turn.h"

namespace imbrex::detail {

task<> read_field_to(field_name name, field_type type, void* values, std::size_t size, field_block block) {
  check_format(name);
  if (size != block.padded().volume())
    throw usage_error(fmt::format("{}: a block with {} padded cells is read to {} values", name.text(),
                                  block.padded().volume(), size));
  if (block.is_empty()) co_return;
  auto read = in_file_turn([&] { read_block(name, type, block, values); });
  co_await read;
}

task<field_extent> read_field_extent(field_name name) {
  check_format(name);
  field_extent e;
  auto read = in_file_turn([&] { e = extent_in_file(name); });
  co_await read;
  co_return e;
}

}  // namespace imbrex::detail
