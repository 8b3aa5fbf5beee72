#include "imbrex/object/entry_activity.h"

namespace imbrex {

void entry_activity::destroy(scheduler& pe, entry_activity* a) {
  if (a->previous != nullptr) {
    a->previous->following = a->following;
  } else {
    a->list(pe) = a->following;
  }
  if (a->following != nullptr) a->following->previous = a->previous;
  a->frame.destroy();
  --pe.num_activities;
  a->~entry_activity();
  slab::free(a);
}

}  // namespace imbrex
