#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "imbrex/base/ids.h"
#include "imbrex/fields/field_box.h"

/// The files of fields, in the format that the file's ending says (`format_of`). Blocking; one thread of the process at
/// a time (`file_turn`). Throw `usage_error` naming file and reason, and `not_built` without the library of the format.
///
/// HDF5: every rank writes the blocks of its chares to a file of its own, `FILE.parts/rank_000003.h5`, so that no rank
/// waits for another and no parallel file system is needed; the file itself has virtual datasets, which show all of
/// them as one. Where a field is replaced, the file shows the old one until the new one is whole: blocks have two
/// places by turns, and the file is replaced as a whole. XDMF: the same beside an index (xdmf_index.h). BP: every block
/// lies in `FILE.parts` until the field is made of them.
namespace imbrex {

/// Where a block of a field is.
struct field_piece {
  field_block block;
  rank_id rank = 0;
  int turn = 0;  ///< in which of its places in the rank's file

  template <class Archive>
  void serialize(Archive& ar) {
    ar & block & rank & turn;
  }
};

/// Throws `not_built` where this build does not have the file's format, and `usage_error` where it has no times but one
/// is named, and where the dataset's name is none.
void check_format(const field_name& name);

/// Writes a block, of which `values` has all padded cells, to the file of this rank. One that is shown now stays. Gives
/// the turn.
int write_piece(const field_name& name, field_type type, const field_block& block, rank_id rank, const void* values);

/// Makes the field of these pieces, which all have been written; what none has is 0. One that is there is replaced.
void write_whole(const field_name& name, field_type type, const field_extent& whole,
                 const std::vector<field_piece>& pieces);

/// How large a field is.
field_extent extent_in_file(const field_name& name);
/// Reads a block, of any dataset of up to three dimensions, whoever wrote it; numbers are converted.
void read_block(const field_name& name, field_type type, const field_block& block, void* values);

namespace hdf5_fields {
/// The same in HDF5 files, of names without a time.
int write_piece(const field_name& name, field_type type, const field_block& block, rank_id rank, const void* values);
/// A file of a series is the runtime's own, and made anew where it is damaged.
void write_whole(const field_name& name, field_type type, const field_extent& whole,
                 const std::vector<field_piece>& pieces, bool is_of_series);
field_extent extent_in_file(const field_name& name);
void read_block(const field_name& name, field_type type, const field_block& block, void* values);
}  // namespace hdf5_fields
namespace bp_fields {
/// The same in files of ADIOS2, whose pieces lie in files of their own until the field is made.
void write_piece(const field_name& name, field_type type, const field_block& block, const void* values);
void write_whole(const field_name& name, field_type type, const field_extent& whole,
                 const std::vector<field_piece>& pieces);
field_extent extent_in_file(const field_name& name);
void read_block(const field_name& name, field_type type, const field_block& block, void* values);
}  // namespace bp_fields

}  // namespace imbrex
