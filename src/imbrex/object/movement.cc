#include "imbrex/object/movement.h"

#include "imbrex/object/collection/entry_activity.h"

namespace imbrex {

void detail::check_movable(const collection& part, const element_base& e, pe_id to) {
  if (e.activities != nullptr) {
    throw usage_error(fmt::format("{} cannot move to PE {}: its entry method {} is a coroutine that still waits",
                                  part.text(e), to, e.activities->name));
  }
  if (e.extras && e.extras->ports)
    throw usage_error(fmt::format("{} cannot move to PE {}: it has open channels", part.text(e), to));
}

void detail::refuse_move(const collection& part, const element_base& e, pe_id to) {
  throw usage_error(fmt::format("{} cannot move to PE {}: its class needs a default constructor and a serialize member",
                                part.text(e), to));
}

}  // namespace imbrex
