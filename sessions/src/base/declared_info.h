// What an MPI_Info declares. Errors go to stderr, each once; what is wrong declares nothing, and the program goes on.
#pragma once

#include "base/declaration.h"
#include "base/services.h"

namespace imbrex::sessions::IX_MPI {

/// From mpi_communication_pattern, mpi_memory_alloc_kinds and mpi_assert_memory_alloc_kinds. Names an unknown pattern
/// or kind, and keys that contradict each other; these declare nothing.
declaration declared_by(MPI_Info info);

/// `inherited` with what was `said` of the object itself. What contradicts a session's declaration is named and void;
/// elsewhere the later word holds.
declaration combined(const declaration& inherited, const declaration& said);

}  // namespace imbrex::sessions::IX_MPI
