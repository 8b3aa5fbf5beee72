// Every routine of routines.def, staged.
#include "dispatch.h"
#include "staged_call.h"
#include "staged_routines.h"

namespace imbrex::sessions::IX_MPI {

namespace {

#define IX_ROUTINE(name, params, args, where, ...) IX_STAGED(name, params, args, where, __VA_ARGS__)
#define IX_STAGED(name, params, args, where, ...)                                   \
  int staged_##name params {                                                        \
    auto* real = reinterpret_cast<int(*) params>(real_routines[id_##name]);         \
    constexpr call_kind kind = kind_of(#name, static_cast<int(*) params>(nullptr)); \
    return staged_call_of<kind>(real, where, {__VA_ARGS__}) args;                   \
  }
#define IX_NAME(name) name
#define IX_COUNT int
#define IX_DISPL int
#include "routines.def"
#undef IX_DISPL
#undef IX_COUNT
#undef IX_NAME
#define IX_NAME(name) name##_c
#define IX_COUNT MPI_Count
#define IX_DISPL MPI_Aint
#define IX_COUNTED
#include "routines.def"
#undef IX_COUNTED
#undef IX_DISPL
#undef IX_COUNT
#undef IX_NAME
#undef IX_STAGED
#undef IX_ROUTINE

}  // namespace

void take_staged_table(void** routines) {
#define IX_ROUTINE(name, ...) IX_TAKE(name)
#define IX_TAKE(name) \
  if (!is_refused(#name)) enter(routines, id_##name, &staged_##name);
#define IX_NAME(name) name
#include "routines.def"
#undef IX_NAME
#define IX_NAME(name) name##_c
#define IX_COUNTED
#include "routines.def"
#undef IX_COUNTED
#undef IX_NAME
#undef IX_TAKE
#undef IX_ROUTINE
}

}  // namespace imbrex::sessions::IX_MPI
