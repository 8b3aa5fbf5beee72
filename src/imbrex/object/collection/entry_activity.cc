#include "imbrex/object/collection/entry_activity.h"

namespace imbrex {

void entry_activity::end(scheduler& pe, ended_activity& ended) {
  auto& a = static_cast<entry_activity&>(ended);
  try {
    a.conclude(pe, a);
  } catch (...) {
    chare_pe::of(pe).fail_method(a.element(), a.name, std::current_exception());
  }
  destroy(pe, &a);
}

void entry_activity::destroy(scheduler& pe, entry_activity* a) {
  if (a->previous != nullptr) {
    a->previous->following = a->following;
  } else {
    a->list(pe) = a->following;
  }
  if (a->following != nullptr) a->following->previous = a->previous;
  detail::frame_end::destroy(a->frame);
  --chare_pe::of(pe).num_activities;
  a->~entry_activity();
  slab::free(a);
}

}  // namespace imbrex
