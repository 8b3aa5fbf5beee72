#pragma once

#include <type_traits>

#include "imbrex/object/collection/array_part.h"
#include "imbrex/object/moving/hand_over.h"
#include "imbrex/object/moving/move_request.h"
#include "imbrex/object/moving/serialized_move.h"

namespace imbrex {

/// One PE's part of a collection of chares of class C, placed by a map.
template <class C, class Map>
class chare_part final : public array_part<typename C::index_type> {
 public:
  using Index = typename C::index_type;

  chare_part(chare_pe& pe, collection_id id, const array_shape<Index, Map>& shape)
      : array_part<Index>(pe, id, detail::type_name<C>(), shape.extent, shape.filled), map_(shape.map) {}

  void wish_to_move(element_base& e, pe_id to) override {
    scheduler& pe = this->pe();
    pe.send(pe.id(), move_body<Index>{this->id(), static_cast<element<Index>&>(e).index, to},
            priorities::communication);
  }
  bool is_serialized() const override { return detail::is_movable<C>; }
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

 private:
  pe_id mapped(const Index& i) const override { return map_to_pe(map_, i, this->extent(), this->pe().num_pes()); }

  Map map_;
};

}  // namespace imbrex
