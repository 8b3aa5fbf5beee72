#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include "imbrex/hetero/coherence/range_map.h"
#include "imbrex/hetero/hetero_data.h"

namespace imbrex {

/// An object's slices. Each is a `hetero_data` of its own, with copies and uses of its own; what tasks do with it is
/// ordered with, and what they write is seen by, those that use the whole or an overlapping slice. For the domain's PE.
///
/// Coherence: a copy of the whole that is not invalid holds the newest data, except where a slice is newer. Of each
/// slice it is known at which places the whole's copy has what was written to the slice (`merged`): a slice of which
/// that is true nowhere is newest in its own copies. Of slices that overlap at most one is so.
struct slice_family {
  struct by_range {
    using is_transparent = void;
    bool operator()(const hetero_data* a, const hetero_data* b) const {
      return a->offset != b->offset ? a->offset < b->offset : a->bytes < b->bytes;
    }
    bool operator()(const hetero_data* a, std::uint64_t offset) const { return a->offset < offset; }
  };
  explicit slice_family(hetero_data& w);

  hetero_data* whole;
  std::set<hetero_data*, by_range> all;     ///< those that nobody has any more, too, while they are newest
  std::uint64_t largest = 0;                ///< bytes that a slice has or had
  std::uint64_t num_writes = 0;             ///< to slices
  std::vector<hetero_data*> dead;           ///< of which there is neither handle nor task
  range_map<bool> defined;                  ///< where slices were written, until all of it was
  range_map<std::exception_ptr> worthless;  ///< what tasks that failed should have written, and nobody has since

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
    if (&d != whole && d.offset > largest) at = all.lower_bound(d.offset - largest);
    for (; at != all.end() && (*at)->offset < end; ++at) {
      if (*at != &d && (*at)->offset + (*at)->bytes > d.offset) f(**at);
    }
  }

  hetero_data* find(std::uint64_t offset, std::uint64_t bytes) const;
  void insert(hetero_data& s);
  void remove(hetero_data& s);

  /// \name At submission
  ///@{
  /// Somebody will write it: what is defined by that.
  void define(hetero_data& d);
  /// Why a task may not use `a`: other slices that overlap. Empty: it may.
  std::string conflict(const task_access& a) const;
  ///@}
  /// Whether somebody has written all of `d`, or will have.
  bool is_defined(const hetero_data& d) const;
  /// A task that writes `d` is enqueued or over: these bytes are worth nothing if it failed, else something again.
  void note_written(const hetero_data& d, const std::exception_ptr& failure);
  /// Of some byte of `d`; null: all are worth something.
  std::exception_ptr failure_of(const hetero_data& d) const;

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

/// Whether somebody has written all of an object, or will have.
inline bool is_defined(const hetero_data& d) { return d.defined || (d.family != nullptr && d.family->is_defined(d)); }

/// Whether one of its own copies is worth something.
inline bool has_valid_copy(hetero_data& d) {
  return std::any_of(d.copies(), d.copies() + d.num_places,
                     [](const hetero_copy& c) { return c.state != coherence::invalid; });
}

}  // namespace imbrex
