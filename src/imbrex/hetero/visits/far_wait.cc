#include "imbrex/hetero/visits/far_wait.h"

#include <new>
#include <utility>

#include "imbrex/base/memory/slab.h"

namespace imbrex {

void far_wait::drop::operator()(far_wait* w) const {
  w->~far_wait();
  slab::free(w);
}

far_wait_ptr far_link::stand_for(waiter& who) {
  auto* const w = new (slab::allocate(sizeof(far_wait))) far_wait;
  w->who = &who;
  w->link = this;
  w->home = who.home;
  w->act = &come_home;
  w->level = who.level;
  wait_ = w;
  return far_wait_ptr(w);
}

void far_link::come_home(work* w, work_action action) {
  auto* const self = static_cast<far_wait*>(w);
  waiter* const who = self->who;
  if (who != nullptr) {
    self->link->wait_ = nullptr;
    self->link->failure_ = std::move(self->failure);
  }
  far_wait::drop()(self);
  if (who != nullptr) who->act(who, action);
}

}  // namespace imbrex
