#include "imbrex/object/collection/entry_message.h"

#include <fmt/format.h>

namespace imbrex::detail {

std::string deleted_text(const char* entry, const char* chare, const std::string& index) {
  return fmt::format("{} was sent to {}{}, which has been deleted", entry, chare, index);
}

}  // namespace imbrex::detail
