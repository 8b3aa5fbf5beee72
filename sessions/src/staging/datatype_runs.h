// The bytes that a datatype of the MPI's covers.
#pragma once

#include "base/services.h"
#include "driver/data_runs.h"

namespace imbrex::sessions::IX_MPI {

/// Of one element. Ends the process for types that nobody can take apart.
data_runs runs_of_type(MPI_Datatype type);

}  // namespace imbrex::sessions::IX_MPI
