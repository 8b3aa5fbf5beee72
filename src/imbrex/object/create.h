#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/object/chare_part.h"
#include "imbrex/object/collection/construction.h"

/// How a collection comes to be: announced to all PEs along a tree, filled on each with the elements whose home it is.
namespace imbrex {

namespace detail {

/// How many of `counts` lie in the subtree of `pe` in the PE tree rooted at `root`.
std::uint64_t count_below(const scheduler& on, pe_id pe, pe_id root, const std::vector<std::uint64_t>& counts);

}  // namespace detail

/// Creates this PE's part of a new collection and the elements whose home this is.
template <class C, class Map, class... Args>
struct create_body {
  using Index = typename C::index_type;

  pe_id root = no_pe;
  collection_id id;
  array_shape<Index, Map> shape;
  std::shared_ptr<const std::tuple<Args...>> args;

  bool announced = false;  ///< on the creator: the part is there already

  const char* name_of_work(scheduler&) const
    requires detail::names_chares<C>
  {
    return kept_name("creation of " + shape.name);
  }
  std::string in_report(scheduler&) const {
    return std::string("the creation of an array of ") +
           (shape.name.empty() ? detail::class_name<C>() : shape.name.c_str());
  }
  void operator()(scheduler& pe) {
    if (!announced) announce(pe);
    if (detail::waits_for_arrays(pe, *this, *args)) return;
    auto& part = *find_part<Index>(pe, id);
    if constexpr (is_grid_index<Index> && std::is_constructible_v<C, const Args&...>) {
      if (shape.filled) fill(pe, part);
    }
    part.set_complete();
    chare_pe::of(pe).release_held(id);
  }

  /// Passes the news on and makes this PE's part, still without elements. The creator does this at once: what it sends
  /// from then on takes the same way, first to last.
  void announce(scheduler& pe) {
    pe.relay(*this, priorities::system);
    announced = true;
    auto owned = std::make_unique<chare_part<C, Map>>(chare_pe::of(pe), id, shape);
    chare_part<C, Map>& part = *owned;
    chare_pe::of(pe).add_collection(std::move(owned));
    if (!shape.filled) {
      part.set_changing(0);
      part.reductions().expect(0, 0);
    }
  }

  template <class Archive>
  void serialize(Archive& ar) {
    ar & root & id & shape;
    if constexpr (Archive::is_loading) {
      std::tuple<Args...> mine;
      ar & mine;
      args = std::make_shared<const std::tuple<Args...>>(std::move(mine));
    } else {
      ar&* args;
    }
  }

 private:
  void fill(scheduler& pe, array_part<Index>& part) {
    const std::uint64_t n = volume(shape.extent);
    std::vector<std::uint64_t> counts(static_cast<std::size_t>(pe.num_pes()), 0);
    for (std::uint64_t l = 0; l < n; ++l) {
      const Index i = from_linear(l, shape.extent);
      const pe_id home = map_to_pe(shape.map, i, shape.extent, pe.num_pes());
      if (home >= 0 && home < pe.num_pes()) ++counts[static_cast<std::size_t>(home)];
      if (home == pe.id() || home < 0 || home >= pe.num_pes()) {
        if (!detail::construct_element<C>(pe, part, part.record(i), *args)) return;
      }
    }
    part.reductions().expect(detail::count_below(pe, pe.id(), root, counts), n);
  }
};

}  // namespace imbrex
