#include "imbrex/object/moving/element_route.h"

namespace imbrex {

namespace {

struct waits_of final : reply_table::arrivals {
  explicit waits_of(const element_base& of) : e(of) {}
  reply_waiter* find(const reply_to& r) override {
    for (const entry_activity* a = e.activities; a != nullptr; a = a->following) {
      for (waiter* w = a->first_waiter; w != nullptr; w = w->following) {
        if (w->mobility != &reply_waiter::follows) continue;
        if (auto* const found = static_cast<reply_waiter*>(w); found->address == r) return found;
      }
    }
    return nullptr;
  }
  const element_base& e;
};

}  // namespace

void detail::perform_for(scheduler& pe, const element_base& e, work* w, bool counts) {
  if (counts) pe.count_created();
  waits_of those(e);
  pe.replies.look_among(&those);
  w->act(w, work_action::run);
  pe.replies.look_among(nullptr);
}

}  // namespace imbrex
