#pragma once

#include <cstdint>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include "imbrex/hetero/coherence/region.h"
#include "imbrex/hetero/hetero_data.h"

namespace imbrex {

/// What a family knows of one of its members: the whole, or a slice.
struct family_member {
  box where;                  ///< of the whole's bytes
  std::vector<region> fresh;  ///< of its copy at each device, what is newest there; of the host's: see there
  std::vector<hetero_data*> overlapping;  ///< other slices that have bytes in common with this one
};

/// An object's slices, which may overlap. Each is a `hetero_data` of its own, with copies and uses of its own; what
/// tasks do with it is ordered with, and what they write is seen by, those that use the whole or an overlapping slice.
/// For the domain's PE.
///
/// Coherence: every copy, of the whole or a slice, knows which of its bytes are the newest; on the host all of them lie
/// in the whole's memory, and that knows it once for all. Every byte that somebody has written is newest somewhere.
struct slice_family {
  struct by_first_byte {
    using is_transparent = void;
    bool operator()(const hetero_data* a, const hetero_data* b) const {
      return a->offset != b->offset ? a->offset < b->offset : a < b;
    }
    bool operator()(const hetero_data* a, std::uint64_t offset) const { return a->offset < offset; }
  };
  /// `row_bytes` and `num_rows` of a plane: of an object without a shape all of it, and 1.
  slice_family(hetero_data& w, std::uint64_t row_bytes, std::uint64_t num_rows);
  ~slice_family();
  slice_family(const slice_family&) = delete;

  hetero_data* whole;
  const std::uint64_t row_bytes;
  const std::uint64_t num_rows;
  std::set<hetero_data*, by_first_byte> all;  ///< slices; those that nobody has any more, too, while they are newest
  std::uint64_t longest = 0;                  ///< bytes from the first to the last one of a slice that there is or was
  std::vector<hetero_data*> dead;             ///< of which there is neither handle nor task
  region on_host;                             ///< where the host's memory is newest
  region defined;                             ///< where slices were written, until all of it was
  region_map<std::exception_ptr> worthless;   ///< what tasks that failed should have written, and nobody has since

  /// Where in the whole's memory its byte with these coordinates is.
  std::uint64_t offset_of(const std::array<std::uint64_t, 3>& at) const {
    return at[0] + row_bytes * (at[1] + num_rows * at[2]);
  }

  /// Calls `f` for all others of the family that share bytes with `d`.
  template <class F>
  void for_each_overlapping(const hetero_data& d, F f) const {
    if (&d != whole) f(*whole);
    for_each_overlapping_slice(d, f);
  }
  /// The same without the whole.
  template <class F>
  void for_each_overlapping_slice(const hetero_data& d, F f) const {
    if (&d == whole) {
      for (hetero_data* s : all) f(*s);
    } else {
      for (hetero_data* s : d.member->overlapping) f(*s);
    }
  }

  hetero_data* find(const box& where) const;
  /// A new slice.
  void insert(hetero_data& s, const box& where);
  void remove(hetero_data& s);

  /// \name At submission
  ///@{
  /// Somebody will write it: what is defined by that.
  void define(hetero_data& d);
  /// Why a task may not use `a`: another of its arguments overlaps it. Empty: it may.
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
  /// Where a member's copy at a place is newest.
  region& fresh(hetero_data& d, int place) { return place == 0 ? on_host : d.member->fresh[place]; }
  const region& fresh(const hetero_data& d, int place) const { return place == 0 ? on_host : d.member->fresh[place]; }
  /// What a copy of `d` at a place does not have.
  region missing(const hetero_data& d, int place) const;
  /// What no other copy has that the one of `d` at a device has.
  region only_in(const hetero_data& d, int place) const;
  /// What only copies of `d` have, at devices.
  region only_in(const hetero_data& d) const;
  /// A task wrote `d` at a place.
  void written(hetero_data& d, int place);
  /// A copy has been given these bytes.
  void came(hetero_data& d, int place, const box& bytes);
  /// Of a member: as of an object without slices.
  coherence state(const hetero_data& d, int place) const;
  ///@}

 private:
  void subtract_others(region& from, const hetero_data& d) const;
};

/// Whether somebody has written all of an object, or will have.
inline bool is_defined(const hetero_data& d) { return d.defined || (d.family != nullptr && d.family->is_defined(d)); }

/// What an object's copy at a place is worth.
inline coherence state_of(hetero_data& d, int place) {
  return d.family != nullptr ? d.family->state(d, place) : d.at(place).state;
}

}  // namespace imbrex
