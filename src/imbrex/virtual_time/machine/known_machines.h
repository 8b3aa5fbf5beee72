#pragma once

#include <span>
#include <string_view>

namespace imbrex::detail {

/// A file of share/machines, as it was built in.
struct known_machine {
  std::string_view name;
  std::string_view text;
};

std::span<const known_machine> all_known_machines();

}  // namespace imbrex::detail
