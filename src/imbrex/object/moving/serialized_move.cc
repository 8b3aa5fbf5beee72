#include "imbrex/object/moving/serialized_move.h"

#include <string>
#include <string_view>

#include <fmt/format.h>

#include "imbrex/base/log_once.h"
#include "imbrex/object/moving/element_saving.h"

namespace imbrex {

void detail::refuse_move(const collection& part, const element_base& e, pe_id to) {
  throw usage_error(fmt::format(
      "{} cannot move to PE {}, {}: its class needs a default constructor and a serialize member", part.text(e), to,
      part.pe().rank().is_local(to) ? "since its process has coherent objects or tasks, or several GPUs, and elements "
                                      "are serialised there"
                                    : "which is of another process"));
}

void detail::refuse_to_lose(const collection& part, const element_base& e, const char* slot, std::size_t messages) {
  const std::string_view name(slot);
  throw usage_error(
      fmt::format("{} {} in {} of {} and would be lost, since its serialize does not name that member: add it there, "
                  "as ar & {}",
                  messages, messages == 1 ? "message waits" : "messages wait", name, part.text(e),
                  name.substr(name.rfind(':') + 1)));
}

void detail::refuse_left_out(const collection& part, const element_base& e, const member_check& check,
                             std::size_t size) {
  const std::string lost = check.lost();
  if (lost.empty()) return;
  throw usage_error(fmt::format(
      "{} has moved, and its bytes {} of {} were others before: a member that lies there is not named by its "
      "serialize. "
      "Name it, or, if it need not go along, say so there: ar & ix::transient(member). Where members lie is said by "
      "gdb -batch -ex 'ptype /o {}' with the program",
      part.text(e), lost, size, part.chare_name()));
}

void detail::refuse_saving(const collection& part, const element_base& e) {
  throw usage_error(fmt::format(
      "{} cannot be part of a checkpoint: its class needs a default constructor and a serialize member", part.text(e)));
}

void detail::warn_of_other_types(const collection& part) {
  log_warning_once(fmt::format(
      "states of {} in the checkpoint were written of other types than serialize reads them as: as many bytes, but "
      "numbers of another kind. If a member's type has changed its values are wrong: restart with the program that "
      "wrote it",
      part.chare_name()));
}

}  // namespace imbrex
