#pragma once

#include <memory>
#include <span>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/collection/collection_kind.h"
#include "imbrex/object/moving/element_saving.h"
#include "imbrex/object/moving/hand_over.h"
#include "imbrex/object/moving/move_request.h"
#include "imbrex/object/moving/restart.h"
#include "imbrex/object/moving/serialized_move.h"
#include "imbrex/object/section_impl.h"

namespace imbrex {

/// One PE's part of a collection of chares of class C, placed by a map.
template <class C, class Map>
class chare_part final : public array_part<typename C::index_type> {
 public:
  using Index = typename C::index_type;

  chare_part(chare_pe& pe, collection_id id, const array_shape<Index, Map>& shape)
      : array_part<Index>(pe, id, shape.name.empty() ? detail::class_name<C>() : kept_name(shape.name), shape.extent,
                          shape.filled),
        map_(shape.map),
        filled_(shape.filled),
        stays_(shape.stays) {}

  void wish_to_move(element_base& e, pe_id to) override {
    scheduler& pe = this->pe();
    pe.send(pe.id(), move_body<Index>{this->id(), static_cast<element<Index>&>(e).index, to},
            priorities::communication);
  }
  state_size size_of(element_base& e) const override { return detail::size_of_element<C>(*this, e); }
  bool is_serialized() const override { return detail::is_movable<C>; }
  bool stays() const override { return stays_; }
  bool is_restartable(const entry_activity& a) const override {
    return detail::restart_of<C>(a) != detail::entry_restart::none;
  }
  void hand_over(element_base& e, pe_id to) override {
    detail::hand_over_element<C>(*this, static_cast<element<Index>&>(e), to);
  }
  void move(element_base& e, pe_id to) override {
    if constexpr (detail::is_movable<C>) {
      detail::move_element<C>(*this, static_cast<element<Index>&>(e), to);
    } else {
      detail::refuse_move(*this, e, to);
    }
  }

  collection_recipe recipe() const override {
    array_shape<Index, Map> shape{this->extent(), map_, filled_, this->chare_name(), stays_};
    return {kind_.name(), to_bytes(shape)};
  }
  saved_state save(element_base& e, device_saver& saver) override { return detail::save_element<C>(*this, e, saver); }
  bool restore(element_base& e, std::span<const std::byte> state) override {
    return detail::restore_element<C>(*this, e, state);
  }
  void restore_section(section_id s, const std::vector<std::vector<std::byte>>& members) override {
    section_request<Index> request{this->id(), s, {}};
    for (const std::vector<std::byte>& m : members) from_bytes(m, request.members.emplace_back());
    this->pe().send(this->pe().id(), std::move(request), priorities::communication);
  }

 private:
  static std::unique_ptr<collection> make(chare_pe& pe, collection_id id, const std::vector<std::byte>& saved) {
    array_shape<Index, Map> shape;
    from_bytes(saved, shape);
    return std::make_unique<chare_part>(pe, id, shape);
  }
  inline static const collection_kind kind_{typeid(chare_part).name(), &make};

  pe_id mapped(const Index& i) const override { return map_to_pe(map_, i, this->extent(), this->pe().num_pes()); }

  Map map_;
  bool filled_;
  bool stays_;
};

}  // namespace imbrex
