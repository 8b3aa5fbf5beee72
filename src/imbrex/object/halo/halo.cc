#include "imbrex/object/halo/halo.h"

#include <fmt/format.h>

namespace imbrex::detail {

void refuse_halo_neighbour(int number, std::size_t num_neighbours) {
  throw usage_error(
      fmt::format("a halo was asked for neighbour {}, but has {}, counted from 0", number, num_neighbours));
}

void refuse_halo_call(const char* call, const char* what_is_wrong) {
  throw usage_error(fmt::format("halo::{} came at the wrong time: {}", call, what_is_wrong));
}

void refuse_halo_size(int number, std::size_t given, std::size_t most) {
  throw usage_error(fmt::format("a halo was to send {} elements to neighbour {}, but was connected for at most {}",
                                given, number, most));
}

void refuse_halo_message(std::size_t number, std::size_t expected, std::size_t came) {
  throw usage_error(
      fmt::format("a halo expected {} elements from neighbour {}, and {} came: both are to call `expect` "
                  "with the same numbers before the same round",
                  expected, number, came));
}

}  // namespace imbrex::detail
