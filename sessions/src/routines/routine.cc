#include "routines/routine.h"

namespace imbrex::sessions {

namespace {

#define IX_NAME_OF(name) IX_NAME_OF_QUOTED(name)
#define IX_NAME_OF_QUOTED(name) "MPI_" #name
constexpr const char* names[] = {
#define IX_ANY_ROUTINE(name) IX_NAME_OF(name),
#include "routines/all_routines.def"
#undef IX_ANY_ROUTINE
    "outside MPI"};

}  // namespace

const char* name_of(routine_id id) { return names[id]; }

}  // namespace imbrex::sessions
