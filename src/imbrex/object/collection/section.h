#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "imbrex/object/collection/reducer.h"
#include "imbrex/pe/scheduler.h"

namespace imbrex {

class collection;
struct element_base;

/// For sections to which an element has contributed, the number of its next reduction.
using section_numbers = std::vector<std::pair<section_id, std::uint32_t>>;

/// This PE's part of a section: the members whose home this is, and the neighbours in the section's tree, which has the
/// PEs that are home of a member and, at its root, the one that made the section. PEs where members live that moved
/// have a part of no tree: what is contributed there goes straight to the root.
class section_part {
 public:
  section_part(scheduler& pe, collection& array, section_id id)
      : reductions(pe, array, id, pe.standing_for(id.creator)) {}

  std::vector<element_base*> members;
  std::vector<pe_id> children;
  bool announced = false;
  std::vector<element_base*> claimed;  ///< contributed before the announcement, which has to name them
  /// Contributed, and ended, before the announcement: with the number of the reduction that each would be missing from
  /// first.
  std::vector<std::pair<element_base*, std::uint32_t>> ended;
  std::vector<work*> held;  ///< what came before the announcement
  reducer reductions;
};

/// A section told to the PEs of its tree: each takes what comes first, its own, and passes the rest on.
template <class Index>
struct section_announcement {
  struct place {
    pe_id pe = no_pe;
    std::vector<Index> members;
    template <class Archive>
    void serialize(Archive& ar) {
      ar & pe & members;
    }
  };

  collection_id array;
  section_id section;
  pe_id parent = no_pe;
  std::vector<place> places;

  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & section & parent & places;
  }
};

/// The wish to make a section, on the PE that wishes it.
template <class Index>
struct section_request {
  collection_id array;
  section_id section;
  std::vector<Index> members;

  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive&) {}  // never leaves its PE
};

namespace detail {
/// Throws `usage_error`.
[[noreturn, gnu::cold]] void refuse_empty_section();
}  // namespace detail

/// From the root down: the section is no more.
struct section_end {
  collection_id array;
  section_id section;

  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & section;
  }
};

/// At a section's root: a member ended before contributing to reduction `first_missing` of it.
struct member_end {
  collection_id array;
  section_id section;
  std::uint32_t first_missing = 0;

  void operator()(scheduler& pe);
  template <class Archive>
  void serialize(Archive& ar) {
    ar & array & section & first_missing;
  }
};

}  // namespace imbrex
