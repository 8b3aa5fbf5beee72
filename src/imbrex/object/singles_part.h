#pragma once

#include <memory>
#include <span>
#include <tuple>
#include <typeinfo>
#include <vector>

#include "imbrex/object/moving/element_saving.h"
#include "imbrex/object/moving/hand_over.h"
#include "imbrex/object/moving/move_request.h"
#include "imbrex/object/moving/restart.h"
#include "imbrex/object/moving/serialized_move.h"
#include "imbrex/object/seeds/seed_pool.h"

/// How a singleton comes to be.
namespace imbrex {

namespace detail {

template <class C>
class singles_part final : public array_part<no_index> {
 public:
  singles_part(chare_pe& pe, collection_id id) : array_part<no_index>(pe, id, class_name<C>()) {}
  static std::unique_ptr<collection> make(chare_pe& pe, collection_id id) {
    return std::make_unique<singles_part>(pe, id);
  }
  void wish_to_move(element_base& e, pe_id to) override {
    pe().send(pe().id(), move_body<no_index>{id(), static_cast<record_type&>(e).index, to}, priorities::communication);
  }
  state_size size_of(element_base& e) const override { return size_of_element<C>(*this, e); }
  bool is_serialized() const override { return is_movable<C>; }
  bool is_restartable(const entry_activity& a) const override { return restart_of<C>(a) != entry_restart::none; }
  void hand_over(element_base& e, pe_id to) override { hand_over_element<C>(*this, static_cast<record_type&>(e), to); }
  void move(element_base& e, pe_id to) override {
    if constexpr (is_movable<C>) {
      move_element<C>(*this, static_cast<record_type&>(e), to);
    } else {
      refuse_move(*this, e, to);
    }
  }
  collection_recipe recipe() const override { return {}; }
  saved_state save(element_base& e, device_saver& saver) override { return save_element<C>(*this, e, saver); }
  bool restore(element_base& e, std::span<const std::byte> state) override {
    return restore_element<C>(*this, e, state);
  }
};

template <class C>
inline singles_class singles_class_of{typeid(C).name(), &singles_part<C>::make};

/// The collection of the singletons of class C.
template <class C>
collection_id singles_of() {
  return {0, collection_id::singles | singles_class_of<C>.number};
}

}  // namespace detail

/// Makes a singleton, at its home.
template <class C, class... Args>
struct single_body {
  no_index index;
  std::tuple<Args...> args;

  const char* name_of_work(scheduler&) const
    requires detail::names_chares<C>
  {
    const auto name = [](const auto&... a) { return detail::class_name<C>(a...); };
    return kept_name(std::string("creation of ") + std::apply(name, args));
  }
  void operator()(scheduler& pe) {
    if (detail::waits_for_arrays(pe, *this, args)) return;
    seed_pool::of(pe).note_singletons();
    auto& part = static_cast<array_part<no_index>&>(*chare_pe::of(pe).find_collection(detail::singles_of<C>()));
    element<no_index>& e = part.record(index);
    e.epoch = array_part<no_index>::first_epoch;
    part.note_made(index);
    detail::construct_element<C>(pe, part, e, args);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & index & args;
  }
};

}  // namespace imbrex
