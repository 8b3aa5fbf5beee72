#include "imbrex/async/actor.h"

namespace imbrex {

void actor_follower::lingers(std::uint64_t order, std::uint64_t place) {
  order_ = order;
  place_ = place;
  for (actor_follower* f = order != 0 ? of_->followers_ : nullptr; f != nullptr; f = f->next_) {
    if (f == this || f->over == nullptr || f->order_ != order) continue;
    return actor_ties::end_follower(f->place_ <= place ? *f : *this);
  }
  if (++of_->num_lingering_ > actor_ties::most_lingering) of_->end_idle_ones();
}

void actor_ties::end_idle_ones() {
  num_lingering_ = 0;
  for (actor_follower *f = followers_, *next = nullptr; f != nullptr; f = next) {
    next = f->next_;
    if (f->over == nullptr) continue;
    f->is_idle(*f) ? end_follower(*f) : void(++num_lingering_);
  }
}

}  // namespace imbrex
