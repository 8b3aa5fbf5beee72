#include "imbrex/base/archive.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex::detail {

void throw_too_short() {
  throw comm_error("a message ended before its last argument: the two sides disagree about a type's serialize");
}

void throw_too_many_elements(std::uint64_t n, std::size_t bytes_left) {
  throw comm_error(fmt::format(
      "a message names {} elements where it has {} bytes left: the two sides disagree about a type", n, bytes_left));
}

void throw_wrong_value(const char* what, std::uint64_t value, std::uint64_t limit) {
  throw comm_error(
      fmt::format("a message has {} {}, which is below {} in every value: the two sides disagree about a type", what,
                  value, limit));
}

void throw_left_over(std::string_view type, std::size_t bytes_left) {
  throw comm_error(
      fmt::format("{} bytes are left over of a message read as {}: its serialize must read as much as it writes",
                  bytes_left, type));
}

}  // namespace imbrex::detail
