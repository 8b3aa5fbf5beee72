#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/hetero/hetero_data.h"

namespace imbrex {

/// An object's slices. Each is a `hetero_data` of its own, with copies and uses of its own; what tasks do with it is
/// ordered with, and what they write is seen by, those that use the whole or an overlapping slice. For the domain's PE.
///
/// Coherence: a copy of the whole that is not invalid holds the newest data, except where a slice is newer. Of each
/// slice it is known at which places the whole's copy has what was written to the slice (`merged`): a slice of which
/// that is true nowhere is newest in its own copies. Of slices that overlap at most one is so.
struct slice_family {
  explicit slice_family(hetero_data& w) : whole(&w) {}

  hetero_data* whole;
  std::vector<hetero_data*> all;  ///< by offset; those that nobody has any more, too, while they are newest
  std::uint64_t largest = 0;      ///< bytes that a slice has or had
  std::uint64_t num_writes = 0;   ///< to slices
  std::uint32_t num_dead = 0;     ///< of which there is neither handle nor task
  std::vector<std::pair<std::uint64_t, std::uint64_t>> defined;  ///< where slices were written, until all of it was

  /// Calls `f` for all others of the family that share bytes with `d`.
  template <class F>
  void for_each_overlapping(const hetero_data& d, F f) const {
    if (&d != whole) f(*whole);
    for_each_overlapping_slice(d, f);
  }
  /// The same without the whole.
  template <class F>
  void for_each_overlapping_slice(const hetero_data& d, F f) const {
    const std::uint64_t end = d.offset + d.bytes;
    auto at = all.begin();
    if (&d != whole && d.offset > largest) {
      at = std::lower_bound(all.begin(), all.end(), d.offset - largest,
                            [](const hetero_data* s, std::uint64_t o) { return s->offset < o; });
    }
    for (; at != all.end() && (*at)->offset < end; ++at) {
      if (*at != &d && (*at)->offset + (*at)->bytes > d.offset) f(**at);
    }
  }

  hetero_data* find(std::uint64_t offset, std::uint64_t bytes) const;
  void insert(hetero_data& s);
  void remove(const hetero_data& s);

  /// \name At submission
  ///@{
  /// Somebody will write it: what is defined by that.
  void define(hetero_data& d);
  /// Why a task may not use `a`: other slices that overlap. Empty: it may.
  std::string conflict(const task_access& a) const;
  ///@}
  /// A task that writes `d` is enqueued or over: what it wrote, and what overlaps, is worth nothing if it failed.
  void spread_failure(const hetero_data& d) const;

  /// \name Coherence
  ///@{
  static std::uint64_t bit(int place) { return std::uint64_t{1} << place; }
  /// A task wrote `d` at a place.
  void written(hetero_data& d, int place);
  /// A copy of the whole was copied to another place.
  void carry(int from, int to);
  /// A copy of the whole has gone, or is invalid.
  void forget(int place);
  /// Whether the whole's newest data are in slices only.
  bool all_in_slices() const;
  /// Whether what a place's copy of the whole is worth can be lost.
  bool kept_without(int place) const;
  ///@}
};

/// Whether one of its own copies is worth something.
inline bool has_valid_copy(hetero_data& d) {
  return std::any_of(d.copies(), d.copies() + d.num_places,
                     [](const hetero_copy& c) { return c.state != coherence::invalid; });
}

}  // namespace imbrex
