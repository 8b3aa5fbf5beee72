// The MPI routines that the library knows, numbered. The numbers are those of the slots in trampolines.cc.
#pragma once

#include <cstdint>

namespace imbrex::sessions {

#define IX_ID(name) IX_ID_PASTE(name)
#define IX_ID_PASTE(name) id_##name

/// In the order of all_routines.def; num_routines stands for "outside of any MPI routine".
enum routine_id : std::uint16_t {
#define IX_ANY_ROUTINE(name) IX_ID(name),
#include "routines/all_routines.def"
#undef IX_ANY_ROUTINE
  num_routines
};

constexpr routine_id no_routine = num_routines;

/// "MPI_Send"; "outside MPI" for no_routine.
const char* name_of(routine_id id);

}  // namespace imbrex::sessions
