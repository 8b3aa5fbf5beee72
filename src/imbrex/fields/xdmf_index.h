#pragma once

#include <string>

#include "imbrex/fields/field_box.h"

/// Indices of HDF5 files that ParaView, VisIt and VTK open: XDMF, a text that says which dataset of which file is what,
/// at what time. Cells are cubes with edges of 1, from the origin. Blocking. Throw `usage_error` naming the file.
namespace imbrex {

/// The HDF5 file that has a field's numbers: "out/heat_t0.25.h5" of "out/heat.xdmf" at 0.25, "out/heat.h5" without a
/// time.
std::string xdmf_data_file(const field_name& name);

/// Throws unless the index can name this field: it is not there, or is one of imbrex's whose fields at that time have
/// as many cells.
void check_xdmf(const field_name& name, const field_extent& whole);
/// Names the field, whose numbers have been written. Who reads the index meanwhile sees the old one or the new one. One
/// writer at a time.
void add_to_xdmf(const field_name& name, field_type type, const field_extent& whole);

/// The dataset that has it, at that time, or at the last one that has it.
field_name find_in_xdmf(const field_name& name);

}  // namespace imbrex
