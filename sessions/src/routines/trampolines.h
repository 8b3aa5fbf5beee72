// The symbols MPI_X and PMPI_X of the library: each jumps to where its slot points. So one library serves MPIs whose
// handles differ: a jump does not look at arguments. At first a slot points to code that finds the program's MPI
// (dispatch.cc), sets all slots and goes on; in an idle library they then hold the MPI's own routines. MPI_X and PMPI_X
// differ where a tool stands between this library and the MPI: then MPI_X goes to the tool, which calls PMPI_X.
//
// Fortran programs come through here too: the bindings of MPICH call MPI_X, those of Open MPI call PMPI_X.
#pragma once

#include "routines/routine.h"

extern "C" {
/// Where a routine goes, called as MPI_X and as PMPI_X.
struct imbrex_sessions_slot {
  void* by_name;
  void* by_profiling_name;
};
/// By routine_id. Written only by bind_mpi() of dispatch.h.
extern imbrex_sessions_slot imbrex_sessions_slots[imbrex::sessions::num_routines] __attribute__((visibility("hidden")));
}
