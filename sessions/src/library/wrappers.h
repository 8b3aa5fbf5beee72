// Parts of a binding: each enters its wrappers, by routine_id.
#pragma once

#include "base/services.h"

namespace imbrex::sessions::IX_MPI {

/// Routines of objects.def that make and free what carries a declaration (object_routines.cc).
void take_object_wrappers(void** wrappers);

/// Start and end of the program's MPI, and sessions (special_routines.cc).
void take_special_wrappers(void** wrappers);
/// Of these, what the mode `time` needs.
void take_timing_wrappers(void** wrappers);

}  // namespace imbrex::sessions::IX_MPI
