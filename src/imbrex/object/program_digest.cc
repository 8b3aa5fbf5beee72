#include "imbrex/object/program_digest.h"

#include "imbrex/base/hash.h"
#include "imbrex/object/active_message.h"
#include "imbrex/object/callback.h"
#include "imbrex/object/singles.h"

namespace imbrex {

std::uint64_t program_digest() {
  return mix(handler_info::seal() ^ mix(singles_class::seal() ^ mix(detail::callback_kind::seal())));
}

}  // namespace imbrex
