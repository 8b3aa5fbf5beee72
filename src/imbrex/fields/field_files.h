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
/// them as one. XDMF: the same beside an index (xdmf_index.h). BP: every block lies in `FILE.parts` until the field is
/// made of them.
namespace imbrex {

/// Where a block of a field is.
struct field_piece {
  field_block block;
  rank_id rank = 0;

  template <class Archive>
  void serialize(Archive& ar) {
    ar & block & rank;
  }
};

/// Throws `not_built` where this build does not have the file's format, and `usage_error` where it has no times but one
/// is named.
void check_format(const field_name& name);

/// Writes a block, of which `values` has all padded cells, to the file of this rank. One that is there is written over.
void write_piece(const field_name& name, field_type type, const field_block& block, rank_id rank, const void* values);

/// Makes the field of these pieces, which all have been written; what none has is 0. One that is there is replaced.
void write_whole(const field_name& name, field_type type, const field_extent& whole, std::vector<field_piece> pieces);

/// How large a field is.
field_extent extent_in_file(const field_name& name);
/// Reads a block, of any dataset of up to three dimensions, whoever wrote it; numbers are converted.
void read_block(const field_name& name, field_type type, const field_block& block, void* values);

namespace hdf5_fields {
/// The same in HDF5 files, of names without a time.
void write_piece(const field_name& name, field_type type, const field_block& block, rank_id rank, const void* values);
void write_whole(const field_name& name, field_type type, const field_extent& whole, std::vector<field_piece> pieces);
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
