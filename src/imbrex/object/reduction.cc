#include "imbrex/object/reduction.h"

namespace imbrex {

void detail::reduction_request::operator()(scheduler& pe) {
  reducer* red = find_reducer(pe, which);
  if (red == nullptr) {
    pe.hold_for_collection(which.array, std::move(*this));
    return;
  }
  red->ask(reply, std::move(wanted_type));
}

}  // namespace imbrex
