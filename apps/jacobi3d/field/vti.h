#pragma once

#include <string>
#include <vector>

#include "decomposition.h"

/// VTK's ImageData files, which ParaView opens: one value for each cell, named `field`, spacing 1, as raw appended
/// float64 with lengths of 64 bits. Cell (x,y,z) spans [x,x+1] x [y,y+1] x [z,z+1].
namespace jacobi {

/// The bytes before and after the data of a .vti file that holds these cells of a larger grid (or all of it).
std::string vti_header(const box& cells);
std::string vti_trailer();

/// A .pvti file: an index of .vti files, one for each box; `names[i]` is relative to the folder of the .pvti file.
std::string pvti_text(extents grid, const std::vector<box>& pieces, const std::vector<std::string>& names);

}  // namespace jacobi
