#include "imbrex/object/moving/serialized_move.h"

#include <string_view>

#include <fmt/format.h>

#include "imbrex/object/moving/element_saving.h"

namespace imbrex {

void detail::refuse_move(const collection& part, const element_base& e, pe_id to) {
  throw usage_error(fmt::format(
      "{} cannot move to PE {}, which is of another process or has another GPU: its class needs a default constructor "
      "and a serialize member",
      part.text(e), to));
}

void detail::refuse_to_lose(const collection& part, const element_base& e, const char* slot, std::size_t messages) {
  const std::string_view name(slot);
  throw usage_error(
      fmt::format("{} {} in {} of {} and would be lost, since its serialize does not name that member: add it there, "
                  "as ar & {}",
                  messages, messages == 1 ? "message waits" : "messages wait", name, part.text(e),
                  name.substr(name.rfind(':') + 1)));
}

void detail::refuse_saving(const collection& part, const element_base& e) {
  throw usage_error(fmt::format(
      "{} cannot be part of a checkpoint: its class needs a default constructor and a serialize member", part.text(e)));
}

}  // namespace imbrex
