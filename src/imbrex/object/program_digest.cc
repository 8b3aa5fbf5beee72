#include "imbrex/object/program_digest.h"

#include "imbrex/base/hash.h"
#include "imbrex/object/callback.h"
#include "imbrex/object/collection/singles.h"
#include "imbrex/object/entry/broadcast_call.h"
#include "imbrex/pe/active_message.h"

namespace imbrex {

std::uint64_t program_digest() {
  // Once: ranks of one process ask at the same time.
  static const std::uint64_t digest =
      mix(handler_info::seal() ^
          mix(singles_class::seal() ^ mix(detail::callback_kind::seal() ^ mix(broadcast_kind::seal()))));
  return digest;
}

}  // namespace imbrex
