#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "imbrex/device/stream_set.h"
#include "imbrex/object/channel/channel_body.h"
#include "imbrex/object/data/port_table.h"
#include "imbrex/object/moving/element_route.h"
#include "imbrex/object/moving/move_timer.h"
#include "imbrex/object/moving/travel_papers.h"

/// How elements move inside a process: object, coroutines and ends of channels go to the other PE as they are, and
/// nothing is serialised. What binds an element to its PE, so that it cannot go now, is known by `binding_of`.
namespace imbrex {

namespace detail {

/// An element on its way. Ends, as if it were destroyed, when the job ends first.
template <class Index>
class travelling_element {
 public:
  travelling_element() = default;
  explicit travelling_element(element<Index>& e)
      : made_of_(new(slab::allocate(sizeof(element<Index>))) element<Index>(e.index)) {
    made_of_->part = e.part;
  }
  travelling_element(travelling_element&& other) noexcept : made_of_(std::exchange(other.made_of_, nullptr)) {}
  travelling_element& operator=(travelling_element&&) = delete;
  ~travelling_element() {
    if (made_of_ == nullptr) return;
    if (made_of_->object != nullptr) collection::destroy(scheduler::current(), *made_of_);
    made_of_->~element<Index>();
    slab::free(made_of_);
  }
  element<Index>& operator*() const { return *made_of_; }

 private:
  element<Index>* made_of_ = nullptr;
};

/// Tells the waits of the coroutines of `e`, and what follows it, that they leave; and where they are now that they
/// have come.
void waits_leave(element_base& e, departure& d);
void waits_arrive(scheduler& pe, element_base& e);

template <class Index>
class element_departure final : public departure {
 public:
  explicit element_departure(const travel_papers<Index>& t) : papers_(t) {}
  std::shared_ptr<const work_route> route() override {
    if (!route_) route_ = std::make_shared<element_route<Index>>(papers_.array, papers_.index, papers_.epoch);
    return route_;
  }
  bool is_followed() const { return route_ != nullptr; }

 private:
  const travel_papers<Index>& papers_;
  std::shared_ptr<const work_route> route_;
};

}  // namespace detail

/// An element that is handed over, on its way.
template <class C>
struct hand_over_body {
  using Index = typename C::index_type;
  travel_papers<Index> papers;
  detail::travelling_element<Index> made_of;

  std::string in_report(scheduler& pe) const {
    return "the arrival of " + shown_element<Index>(pe, papers.array, papers.index);
  }
  void operator()(scheduler& pe) {
    auto* part = find_part<Index>(pe, papers.array);
    if (part == nullptr) {
      chare_pe::of(pe).hold_for_collection(papers.array, std::move(*this));
      return;
    }
    const move_timer timed(pe, true);
    papers.arrive(pe, *part, [&](element<Index>& e) {
      part->takes_over(e, *made_of);
      if (stream_set* const s = chare_access::streams(*e.object); s != nullptr) {
        const actor_turn turn(pe, &e);  // whose streams they are
        s->arrive(*pe.default_device);
      }
      detail::waits_arrive(pe, e);
      if (e.extras && e.extras->ports) {
        e.extras->ports->for_each_end([&](port_end& end) { end.tell_of_move(pe); });
      }
      detail::tell_of_move<C>(pe, e, papers.from);
      return true;
    });
  }
  template <class Archive>
  void serialize(Archive&) {}  // never leaves its process
};

namespace detail {

template <class C>
void hand_over_element(array_part<typename C::index_type>& part, element<typename C::index_type>& e, pe_id to) {
  using Index = typename C::index_type;
  scheduler& pe = part.pe();
  const move_timer timed(pe);
  announce_move<C>(pe, e, to);
  hand_over_body<C> body{travel_papers<Index>::of(part, e), travelling_element<Index>(e)};
  element_departure<Index> leaving(body.papers);
  waits_leave(e, leaving);
  if (stream_set* const s = chare_access::streams(*e.object); s != nullptr) s->leave();
  std::vector<port_message> bound;
  if (e.extras && e.extras->ports) bound = e.extras->ports->take_bound(false);
  part.gives_up(e, to, *body.made_of);
  pe.send(to, std::move(body), priorities::communication);
  send_after(pe, part, e.index, std::move(bound));
  if constexpr (std::is_same_v<Index, no_index>) {
    // Its home knows; what comes here for its coroutines must know, too.
    if (part.home(e.index) != pe.id() && !leaving.is_followed()) part.forget(e);
  }
}

}  // namespace detail

}  // namespace imbrex
