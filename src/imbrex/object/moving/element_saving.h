#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

#include "imbrex/object/collection/construction.h"
#include "imbrex/object/moving/serialized_move.h"
#include "imbrex/object/state/element_state.h"

/// Elements of a known class as bytes, for checkpoints, and back.
namespace imbrex::detail {

[[noreturn]] void refuse_saving(const collection& part, const element_base& e);
/// Once for a class: as many bytes, but of other types.
void warn_of_other_types(const collection& part);

template <class C>
saved_state save_element(const collection& part, element_base& e, device_saver& saver) {
  if constexpr (is_movable<C>) {
    const actor_turn turn(part.pe(), &e);
    return save_state(*static_cast<C*>(e.object), saver,
                      [&](const char* slot, std::size_t n) { refuse_to_lose(part, e, slot, n); });
  } else {
    refuse_saving(part, e);
  }
}

template <class C>
state_size size_of_element(const collection& part, element_base& e) {
  if constexpr (is_movable<C>) {
    const actor_turn turn(part.pe(), &e);
    return size_of_state(*static_cast<C*>(e.object));
  } else {
    return {};
  }
}

template <class C>
bool restore_element(collection& part, element_base& e, std::span<const std::byte> state) {
  if constexpr (is_movable<C>) {
    if (!construct_element<C>(part.pe(), part, e, std::tuple<>{})) return false;
    const actor_turn turn(part.pe(), &e);
    C& object = *static_cast<C*>(e.object);
    bool of_same_types = true;
    keep_until_idle(object, state_from_checkpoint(state, object, of_same_types));
    if (!of_same_types) warn_of_other_types(part);
    return true;
  } else {
    refuse_saving(part, e);
  }
}

}  // namespace imbrex::detail
