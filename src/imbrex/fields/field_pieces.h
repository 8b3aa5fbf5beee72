#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "imbrex/async/task.h"
#include "imbrex/base/error.h"
#include "imbrex/fields/field_files.h"

/// What the chares of an array tell each other when they write a field.
namespace imbrex::detail {

/// Some pieces of a field, and what went wrong with one, if anything did.
struct field_pieces {
  static constexpr const char* what_contributes = "write_field";
  std::vector<field_piece> all;
  std::uint64_t by =
      0;             ///< one of the chares, which makes the whole: each has a number of its own, and the least one does
  std::string what;  ///< the field, which has to be the same one of all
  std::string failure_kind, failure;

  void failed(const error& e) {
    failure_kind = e.kind();
    failure = e.what();
  }
  /// Throws what one of them threw.
  void check() const {
    if (!failure_kind.empty()) throw_error(failure_kind, failure);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & all & by & what & failure_kind & failure;
  }
};

struct join_pieces {
  void operator()(field_pieces& into, field_pieces&& from) const {
    into.all.insert(into.all.end(), from.all.begin(), from.all.end());
    into.by = std::min(into.by, from.by);
    if (into.what != from.what) note_difference(into, from);
    // Of several failures the same one on all PEs, in whatever order they come.
    if (into.failure_kind.empty() || (!from.failure_kind.empty() && from.failure < into.failure)) {
      into.failure_kind = std::move(from.failure_kind);
      into.failure = std::move(from.failure);
    }
  }

 private:
  static void note_difference(field_pieces& into, field_pieces& from);
};

/// Writes the block of one chare, which may be empty, and whose values must be as many as it has padded cells, behind
/// its PE; what goes wrong is noted.
task<> write_own_piece(field_pieces* mine, field_name name, field_type type, field_block block, field_extent whole,
                       const void* values, std::size_t num_values);
/// All pieces have been written: one chare, the one whose number `by` is, makes the whole field of them. Others do
/// nothing.
task<> write_whole_of(field_pieces* all, field_name name, field_type type, std::uint64_t by, field_extent whole);

}  // namespace imbrex::detail
