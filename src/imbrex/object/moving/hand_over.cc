#include "imbrex/object/moving/hand_over.h"

namespace imbrex {

void detail::waits_leave(element_base& e, departure& d) {
  for (const entry_activity* a = e.activities; a != nullptr; a = a->following) {
    for (waiter* w = a->first_waiter; w != nullptr; w = w->following) w->leave(d);
  }
  if (!e.extras || e.extras->ties == nullptr) return;
  e.extras->ties->call_when_free(nullptr, nullptr);  // it goes: this PE's record of it need not be told any more
  e.extras->ties->followers_leave(d);
}

void detail::waits_arrive(scheduler& pe, element_base& e) {
  if (e.extras && e.extras->ties != nullptr) {
    const actor_turn turn(pe, &e);  // whose streams they are
    e.extras->ties->followers_arrive(pe);
  }
  for (const entry_activity* a = e.activities; a != nullptr; a = a->following) {
    for (waiter* w = a->first_waiter; w != nullptr; w = w->following) w->arrive(pe);
  }
}

}  // namespace imbrex
