// The wrapper of every routine of routines.def and waits.def, and the binding that hands them out.
#include "library/wrappers.h"

#include <cstring>
#include <initializer_list>

#include "base/settings.h"
#include "routines/dispatch.h"
#include "staging/active_call.h"
#include "staging/staging.h"

namespace imbrex::sessions::IX_MPI {

namespace {

#define IX_ROUTINE(name, params, args, ...) IX_WRAPPER(name, params, args, __VA_ARGS__)
#define IX_WRAPPER(name, params, args, ...)                                  \
  int wrapped_##name params {                                                \
    const active_call call(id_##name, __VA_ARGS__);                          \
    return reinterpret_cast<int(*) params>(called_routines[id_##name]) args; \
  }
#include "routines/both_counts.def"
#include "routines/waits.def"
#undef IX_WRAPPER
#undef IX_ROUTINE

void* wrappers[num_routines];

void take_wrappers() {
#define IX_ROUTINE(name, ...) IX_TAKE(name)
#define IX_TAKE(name) wrappers[id_##name] = reinterpret_cast<void*>(&wrapped_##name);
#include "routines/both_counts.def"
#include "routines/waits.def"
#undef IX_TAKE
#undef IX_ROUTINE
}

bool is_this_mpi(const char* version) {
#ifdef OPEN_MPI
  return std::strncmp(version, "Open MPI v4.", 12) == 0 || std::strncmp(version, "Open MPI v5.", 12) == 0;
#else
  // MPIs of others that keep MPICH's handles and statuses (the MPICH ABI compatibility initiative).
  for (const char* beginning : {"MPICH Version:", "Intel(R) MPI Library", "MVAPICH2 Version", "MVAPICH Version",
                                "MVAPICH-Plus Version", "ParaStation MPI", "MPI VERSION    : CRAY MPICH"}) {
    if (std::strncmp(version, beginning, std::strlen(beginning)) == 0) return true;
  }
  return false;
#endif
}

const char* start(void* (*find)(const char* symbol)) {
  if (const char* missing = start_services(find)) return missing;
  take_timing_wrappers(wrappers);
  if (current_settings().modes == mode_time) return nullptr;
  take_wrappers();
  take_object_wrappers(wrappers);
  take_special_wrappers(wrappers);
  take_staging_routines((current_settings().modes & mode_stage) != 0);
  return nullptr;
}

#define IX_QUOTED(name) IX_QUOTE(name)
#define IX_QUOTE(name) #name

}  // namespace

extern const binding this_binding;
const binding this_binding = {IX_QUOTED(IX_MPI), &is_this_mpi, &start, wrappers};

}  // namespace imbrex::sessions::IX_MPI
