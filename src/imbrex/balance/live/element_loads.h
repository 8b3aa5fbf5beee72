#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "imbrex/object/collection/chare_pe.h"
#include "imbrex/object/collection/element.h"

namespace imbrex {

/// What one element has cost since it was measured last, as its PE tells it.
struct element_load {
  pe_id pe = no_pe;
  std::int64_t host_ns = 0;
  bool pinned = false;
  bool crosses_processes = false;  ///< at once or from its next move point
  std::int32_t num_dimensions = 0;
  std::array<double, 3> place{};

  template <class Archive>
  void serialize(Archive& ar) {
    ar & pe & host_ns & pinned & crosses_processes & num_dimensions& place[0] & place[1] & place[2];
  }
};

/// Of some PEs: those of one PE lie together, in the order in which it keeps them.
struct element_loads {
  std::vector<element_load> all;

  element_loads& operator+=(element_loads&& more) {
    all.insert(all.end(), more.all.begin(), more.all.end());
    return *this;
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & all;
  }
};

/// An element that was measured, and which of those of its index: it may have moved or ended since.
struct measured_element {
  element_base* element = nullptr;
  std::uint64_t epoch = 0;
};

/// The elements of `pe` with what they ran by `times`; in `measured`, in the same order.
element_loads loads_of(const chare_pe& pe, const std::unordered_map<const actor*, std::int64_t>& times,
                       std::vector<measured_element>& measured);

}  // namespace imbrex
