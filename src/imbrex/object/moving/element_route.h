#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/collection/location.h"

/// What comes to a PE for a coroutine that waited there, and has moved inside the process, follows its element.
namespace imbrex {

namespace detail {

/// Performs `w` on the PE where the coroutines of `e` wait.
void perform_for(scheduler& pe, const element_base& e, work* w, bool counts);

struct discard_work {
  void operator()(work* w) const { w->act(w, work_action::discard); }
};
using owned_work = std::unique_ptr<work, discard_work>;

}  // namespace detail

/// Work on its way to the coroutines of an element. It stays in this process, as they do.
template <class Index>
struct carried_work {
  collection_id array;
  Index index{};
  std::uint64_t epoch = 0;  ///< of the element when it left the PE where this came to
  detail::owned_work carried;
  bool counts = false;

  void operator()(scheduler& pe) {
    array_part<Index>* const part = find_part<Index>(pe, array);
    if (part == nullptr) {
      chare_pe::of(pe).hold_for_collection(array, std::move(*this));
      return;
    }
    element<Index>& e = part->record(index);
    if (e.object != nullptr) {
      detail::perform_for(pe, e, carried.release(), counts);
    } else if (e.epoch < epoch || (e.epoch == epoch && e.where == pe.id())) {  // it is still on its way to here
      part->hold(e, active_message<carried_work>::make(priorities::communication, std::move(*this)));
    } else if (e.state == presence::elsewhere && pe.rank().is_local(e.where)) {
      pe.send(e.where, std::move(*this), priorities::communication);
    }  // else it has ended, or its coroutines have
  }
  template <class Archive>
  void serialize(Archive&) {}  // never leaves its process
};

/// Where work of an element goes after it has moved: to where the element is now.
template <class Index>
class element_route final : public work_route {
 public:
  element_route(collection_id array, Index index, std::uint64_t epoch)
      : array_(array), index_(std::move(index)), epoch_(epoch) {}
  void carry(work* w, bool counts) const override {
    carried_work<Index> body{array_, index_, epoch_, detail::owned_work(w), counts};
    body(scheduler::current());
  }

 private:
  collection_id array_;
  Index index_;
  std::uint64_t epoch_;
};

}  // namespace imbrex
