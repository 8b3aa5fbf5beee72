#pragma once

#include <utility>

#include "imbrex/object/collection/entry_activity.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/object/data/port_table.h"
#include "imbrex/object/moving/binding.h"
#include "imbrex/object/moving/move_requests.h"
#include "imbrex/object/moving/restart.h"

namespace imbrex {

/// Moves an element, from its PE's loop: now, or when nothing binds it any more.
template <class Index>
struct move_body {
  collection_id array;
  Index index{};
  pe_id to = no_pe;
  bool has_looked = false;  ///< for memory that has come back
  int num_tries = 0;        ///< that came to nothing since a coroutine cannot be called again elsewhere

  std::string in_report(scheduler& pe) const { return "the move of " + shown_element<Index>(pe, array, index); }
  void operator()(scheduler& pe) { bring_to_element<Index>(pe, *this); }
  void at(scheduler& pe, array_part<Index>& part, element<Index>& e) {
    if (e.extras) e.extras->wish_is_tried = false;
    if (has_looked && e.extras && e.extras->wish_to_move != nullptr) return;  // a later one
    move_requests::forget(part.pe(), e);
    if (e.extras) e.extras->sends_copies = false;
    if (to == pe.id() || part.stays() || (e.extras && e.extras->pinned)) return move_requests::go_on_at_points(e);
    if (!part.may_run(e)) {
      part.hold(e, active_message<move_body>::make(priorities::communication, std::move(*this)));
    } else if (pe.rank().is_local(to)) {
      inside(part, e);
    } else {
      between_processes(part, e);
    }
  }
  void nowhere(scheduler&, array_part<Index>&, element<Index>*) {}  // it has ended
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & index & to;
  }

 private:
  void inside(array_part<Index>& part, element<Index>& e) {
    switch (binding_of(part.pe(), e)) {
      case binding::none: part.hand_over(e, to); break;
      case binding::streams: when_streams_are_idle(part, e); break;
      case binding::objects: between_processes(part, e); break;
      case binding::channel: part.is_serialized() ? between_processes(part, e) : later(part, e); break;
      default: later(part, e);
    }
  }

  /// Serialised: with coroutines that can be called again, when all memory that it has lent is back.
  void between_processes(array_part<Index>& part, element<Index>& e) {
    if (!part.is_serialized()) {
      part.move(e, to);  // says why not
    } else if (!coroutines_can_go(part, e) || (ties_of(e) != nullptr && ties_of(e)->ties())) {
      at_a_later_point(part, e);
    } else if (!own_streams_are_idle(e)) {
      part.block(e);
      move_requests::of(part.pe()).when_idle(e, own_streams(e),
                                             [&part, &e, request = *this] { request.try_again(part, e); });
    } else if (const stream_set* const s = chare_access::streams(*e.object); s != nullptr && !s->idle()) {
      when_streams_are_idle(part, e);
    } else if (ties_of(e) != nullptr && ties_of(e)->is_followed()) {
      has_looked ? at_a_later_point(part, e) : look_first(part);
    } else {
      part.move(e, to);
    }
  }

  static bool coroutines_can_go(const array_part<Index>& part, const element_base& e) {
    for (const entry_activity* a = e.activities; a != nullptr; a = a->following) {
      if (!part.is_restartable(*a) || !detail::stands_at_move_point(*a)) return false;
    }
    return true;
  }
  static bool has_points(const array_part<Index>& part, const element_base& e) {
    for (const entry_activity* a = e.activities; a != nullptr; a = a->following) {
      if (!part.is_restartable(*a)) return false;
    }
    return true;
  }
  static const actor_ties* ties_of(const element_base& e) { return e.extras ? e.extras->ties : nullptr; }

  /// What has come to this PE, memory that is given back perhaps, is performed before this is tried once more.
  void look_first(array_part<Index>& part) {
    move_body request = *this;
    request.has_looked = true;
    part.pe().collect_everything();
    part.pe().count_created();
    part.pe().post_here(active_message<move_body>::make(priorities::communication, std::move(request)));
  }

  /// Until then it lends no more: what is away comes back as the others go on, and nobody waits for that.
  void at_a_later_point(array_part<Index>& part, element<Index>& e) {
    const bool lends_no_more = has_points(part, e);
    if (!lends_no_more && ++num_tries == move_requests::tries_to_warn) move_requests::of(part.pe()).warn(e, to);
    has_looked = false;
    later(part, e);
    e.more().sends_copies = lends_no_more;
  }

  void later(array_part<Index>& part, element<Index>& e) {
    move_requests::of(part.pe()).keep(e, active_message<move_body>::make(priorities::communication, std::move(*this)));
    move_requests::go_on_at_points(e);
  }

  /// Messages to it are held meanwhile, so that it enqueues no more and its streams come to an end.
  void when_streams_are_idle(array_part<Index>& part, element<Index>& e) {
    part.block(e);
    chare_access::streams(*e.object)->when_idle([&part, &e, request = *this] { request.try_again(part, e); });
  }
  void try_again(array_part<Index>& part, element<Index>& e) const {
    part.unblock(e);
    part.pe().count_created();
    part.pe().post_in_front({active_message<move_body>::make(priorities::system, *this)});
  }
};

}  // namespace imbrex
