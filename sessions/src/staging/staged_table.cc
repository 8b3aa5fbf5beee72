// Every routine of routines.def, staged.
#include "routines/dispatch.h"
#include "staging/staged_call.h"
#include "staging/staged_routines.h"

namespace imbrex::sessions::IX_MPI {

namespace {

#define IX_ROUTINE(name, params, args, where, ...) IX_STAGED(name, params, args, where, __VA_ARGS__)
#define IX_STAGED(name, params, args, where, ...)                                   \
  int staged_##name params {                                                        \
    auto* real = reinterpret_cast<int(*) params>(real_routines[id_##name]);         \
    constexpr call_kind kind = kind_of(#name, static_cast<int(*) params>(nullptr)); \
    return staged_call_of<kind>(real, where, {__VA_ARGS__}) args;                   \
  }
#include "routines/both_counts.def"
#undef IX_STAGED
#undef IX_ROUTINE

}  // namespace

void take_staged_table(void** routines) {
#define IX_ROUTINE(name, ...) IX_TAKE(name)
#define IX_TAKE(name) \
  if (!is_refused(#name)) enter(routines, id_##name, &staged_##name);
#include "routines/both_counts.def"
#undef IX_TAKE
#undef IX_ROUTINE
}

}  // namespace imbrex::sessions::IX_MPI
