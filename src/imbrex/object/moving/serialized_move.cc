#include "imbrex/object/moving/serialized_move.h"

namespace imbrex {

void detail::refuse_move(const collection& part, const element_base& e, pe_id to) {
  throw usage_error(fmt::format(
      "{} cannot move to PE {}, which is of another process: its class needs a default constructor and a serialize "
      "member",
      part.text(e), to));
}

}  // namespace imbrex
