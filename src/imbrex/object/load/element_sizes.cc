#include "imbrex/object/load/element_sizes.h"

#include "imbrex/object/collection/collection.h"

namespace imbrex::detail {

void note_size(element_base& e) {
  const std::uint32_t asked = e.part->pe().sizes_asked;
  if (e.more().size.asked == asked) return;
  e.extras->size.asked = asked;
  try {
    e.extras->size.size = e.part->size_of(e);
  } catch (const error&) {
    return;
  }
}

}  // namespace imbrex::detail
