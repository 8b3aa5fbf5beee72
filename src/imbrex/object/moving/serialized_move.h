#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/object/channel/channel_body.h"
#include "imbrex/object/collection/construction.h"
#include "imbrex/object/collection/entry_message.h"
#include "imbrex/object/data/port_table.h"
#include "imbrex/object/moving/buffer_transit.h"
#include "imbrex/object/moving/move_timer.h"
#include "imbrex/object/moving/restart.h"
#include "imbrex/object/moving/travel_papers.h"
#include "imbrex/object/state/element_state.h"

/// How elements move between processes: serialised, destroyed, default-constructed over there and read back. Coroutines
/// that stand at move points are called again there, and channels go on when their ports are opened again.
namespace imbrex {

template <class Derived, class Index>
class chare;

namespace detail {

template <class C>
inline constexpr bool is_movable = std::is_default_constructible_v<C> && has_member_serialize<C, sizing_archive>;

/// What a chare of class C has of the runtime.
template <class C>
using chare_of = chare<typename C::class_named_as_derived, typename C::index_type>;

[[noreturn]] void refuse_move(const collection& part, const element_base& e, pe_id to);
/// Throws `usage_error` if some bytes of `e`, an object of `size` bytes, were lost.
void refuse_left_out(const collection& part, const element_base& e, const member_check& check, std::size_t size);
/// `serialize` of `e` does not name this entry slot, which has messages.
[[noreturn]] void refuse_to_lose(const collection& part, const element_base& e, const char* slot, std::size_t messages);

}  // namespace detail

/// An element that moves, on its way.
template <class C>
struct arrive_body {
  using Index = typename C::index_type;
  static constexpr bool may_part = true;
  travel_papers<Index> papers;
  std::vector<detail::entry_restart> coroutines;
  std::vector<port_state> ports;
  std::vector<std::byte> state;
  buffer_transit buffers;
  std::vector<std::byte> image;  ///< of the object, for `member_check`

  std::string in_report(scheduler& pe) const {
    return "the arrival of " + shown_element<Index>(pe, papers.array, papers.index);
  }
  static const char* when_read() { return detail::class_name<C>(); }
  void operator()(scheduler& pe) {
    auto* part = find_part<Index>(pe, papers.array);
    if (part == nullptr) {
      chare_pe::of(pe).hold_for_collection(papers.array, std::move(*this));
      return;
    }
    if (buffers.is_incomplete()) return fetch_buffers(pe);
    const move_timer timed(pe, true);
    element<Index>* here = nullptr;
    papers.arrive(pe, *part, [&](element<Index>& e) {
      if (!ports.empty()) e.ports().arrive(std::move(ports));
      if (!detail::construct_element<C>(pe, *part, e, std::tuple<>{})) return false;
      C& object = *static_cast<C*>(e.object);
      const auto check = detail::member_check::of(std::move(image), &object, sizeof(C));
      {
        const actor_turn turn(pe, &e);
        if (check != nullptr) check->sees(static_cast<detail::chare_of<C>*>(&object), sizeof(detail::chare_of<C>));
        detail::keep_until_idle(object, detail::state_from_bytes(state, object, buffers.buffers(), check.get()));
      }
      detail::tell_of_move<C>(pe, e, papers.from);
      if (check != nullptr) detail::refuse_left_out(*part, e, *check, sizeof(C));
      here = &e;
      return true;
    });
    for (const detail::entry_restart& r : coroutines) {
      if (here == nullptr || here->object == nullptr) return;  // an earlier one has ended it
      detail::call_again<C>(pe, *here, r);
    }
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & papers & coroutines & ports & buffers & image& beside(state);
  }

 private:
  /// The element is on its way until they have come.
  void fetch_buffers(scheduler& pe) {
    buffer_transit coming = std::move(buffers);
    auto rest = std::make_shared<arrive_body>(std::move(*this));
    coming.fetch(pe, [&pe, rest](std::vector<buffer<std::byte>> all) {
      rest->buffers.have(std::move(all));
      pe.send(pe.id(), std::move(*rest), priorities::communication);
    });
  }
};

namespace detail {

template <class C>
void move_element(array_part<typename C::index_type>& part, element<typename C::index_type>& e, pe_id to) {
  using Index = typename C::index_type;
  scheduler& pe = part.pe();
  const move_timer timed(pe);
  announce_move<C>(pe, e, to);
  arrive_body<C> body;
  for (const entry_activity* a = e.activities; a != nullptr; a = a->following)
    body.coroutines.push_back({restart_of<C>(*a), a->reply});
  body.papers = travel_papers<Index>::of(part, e);
  {
    const actor_turn turn(pe, &e);
    body.image = member_check::image_of(static_cast<C*>(e.object), sizeof(C));
    const which_buffers beside = pe.rank().is_local(to) ? which_buffers::all : which_buffers::large_of_devices;
    body.state = state_to_bytes(*static_cast<C*>(e.object), beside, body.buffers.buffers(),
                                [&](const char* slot, std::size_t n) { refuse_to_lose(part, e, slot, n); });
    if (beside != which_buffers::all) body.buffers.leave_process(pe);
  }
  std::vector<port_message> bound;
  if (e.extras && e.extras->ports) {
    bound = e.extras->ports->take_bound(!pe.rank().is_local(to));
    if (element_traffic* const t = element_traffic::of(pe); t != nullptr) t->add_channels(e);
    body.ports = e.extras->ports->leave();
  }
  part.becomes_absent(e, presence::elsewhere, to);
  pe.send(to, std::move(body), priorities::communication);
  send_after(pe, part, e.index, std::move(bound));
  if constexpr (std::is_same_v<Index, no_index>) {
    if (part.home(e.index) != pe.id()) part.forget(e);  // its home knows
  }
}

}  // namespace detail

}  // namespace imbrex
