#include "imbrex/fields/field_files.h"

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"

namespace imbrex {

#if IMBREX_HAVE_HDF5
void check_fields_are_built() {}
#else

void check_fields_are_built() {
  throw not_built("fields in files need HDF5, which this build has not (" IMBREX_NOTE_HDF5
                  "): install libhdf5-dev and build imbrex again");
}

// Nobody comes here: what is not built is said first.
void write_piece(const field_name&, field_type, const field_block&, rank_id, const void*) { check_fields_are_built(); }
void write_whole(const field_name&, field_type, const field_extent&, std::vector<field_piece>) {
  check_fields_are_built();
}
field_extent extent_in_file(const field_name&) {
  check_fields_are_built();
  return {};
}
void read_block(const field_name&, field_type, const field_block&, void*) { check_fields_are_built(); }

#endif

}  // namespace imbrex
