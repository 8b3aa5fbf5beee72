#pragma once

#include <cstdint>
#include <new>
#include <tuple>
#include <utility>

#include "imbrex/object/collection/construction.h"
#include "imbrex/object/collection/singles.h"
#include "imbrex/object/seeds/seed_pool.h"

namespace imbrex {

template <class C, class... Args>
struct seed_arrival;

/// A seed of class C: as work it makes the chare on the PE whose work it is then.
template <class C, class... Args>
struct seed final : seed_work {
  std::tuple<Args...> args;

  /// One of no index yet, of `array`, that of the singletons of the class.
  template <class... A>
  static seed* make(collection_id array, A&&... a) {
    static_assert(alignof(seed) <= 16, "imbrex: over-aligned types cannot travel in a message");
    return new (slab::allocate(sizeof(seed))) seed(array, std::forward<A>(a)...);
  }

  void operator()(scheduler& pe) {
    auto& part = static_cast<array_part<no_index>&>(*chare_pe::of(pe).find_collection(array));
    element<no_index>& e = part.record(index);
    const pe_id home = part.home(index);
    e.epoch = home == pe.id() ? part.first_epoch : part.first_epoch + 1;  // as if it had moved
    if (detail::construct_element<C>(pe, part, e, args) && home != pe.id())
      seed_pool::of(pe).news().made(home, array, index, e.epoch);
  }

 private:
  template <class... A>
  explicit seed(collection_id of, A&&... a) : args(std::forward<A>(a)...) {
    act = &seed::perform;
    leave = &seed::leave_for;
    array = of;
  }
  static void destroy(seed* s) {
    s->~seed();
    slab::free(s);
  }
  static void perform(work* w, work_action action) {
    auto* s = static_cast<seed*>(w);
    if (action == work_action::run) [[likely]]
      perform_body_here(*s, s->flow);
    destroy(s);
  }
  static void leave_for(scheduler& pe, pe_id to, seed_work* w) {
    auto* s = static_cast<seed*>(w);
    pe.send(to, seed_arrival<C, Args...>{pe.id(), s->array, s->index, std::move(s->args)}, priorities::communication);
    destroy(s);
  }
};

/// A seed that goes to another process: that PE has it from then on.
template <class C, class... Args>
struct seed_arrival {
  pe_id from = no_pe;
  collection_id array;
  no_index index;
  std::tuple<Args...> args;

  void operator()(scheduler& pe) {
    auto* const s = std::apply([this](auto&... a) { return seed<C, Args...>::make(array, std::move(a)...); }, args);
    s->index = index;
    seed_pool::of(pe).take_over(*s, from);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & from & array & index & args;
  }
};

}  // namespace imbrex
