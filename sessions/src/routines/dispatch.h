// Finds the MPI of the program, and chooses what MPI_X does: the MPI's own routine in an idle library, the wrapper of
// the binding for this MPI otherwise.
#pragma once

#include "routines/routine.h"

namespace imbrex::sessions {

/// The MPI's own routines; null for those that it does not have. Valid once bind_mpi() returned.
extern void* real_routines[num_routines] __attribute__((visibility("hidden")));

/// What the library does for MPIs with one kind of handles. There is one per mpi.h that it was built with.
struct binding {
  const char* name;
  bool (*matches)(const char* library_version);  ///< of MPI_Get_library_version
  /// Takes what it needs of the MPI, by name; null on success, else the name of what is missing.
  const char* (*start)(void* (*find)(const char* symbol));
  void* const* wrappers;  ///< by routine_id; null where the MPI's own will do
};

/// Sets all slots. `first` is the routine that was called; the process ends with a message if the MPI has no such
/// routine, or if there is no MPI. May be called by several threads.
void bind_mpi(routine_id first);

/// "Open MPI v4.1.4, ..."; "" before bind_mpi().
const char* mpi_version();

}  // namespace imbrex::sessions
