// Where the program's MPI starts and ends: a run is timed from the one to the other and reported at its end.
#include <atomic>

#include "base/declared_info.h"
#include "base/handle_table.h"
#include "base/settings.h"
#include "driver/driver_queries.h"
#include "library/gathered_report.h"
#include "library/report.h"
#include "library/wrappers.h"
#include "routines/dispatch.h"
#include "routines/thread_state.h"
#include "staging/active_call.h"
#include "staging/staging.h"

namespace imbrex::sessions::IX_MPI {

namespace {

std::atomic<int> open_sessions{0};
std::atomic<bool> world_started{false};

/// Whatever the MPI does while it starts or ends is its own.
template <class Call>
int own_time(routine_id id, Call call) {
  if (enter(here, __builtin_frame_address(0))) here.routine = id;
  const int result = call();
  if (--here.depth == 0) here.routine = no_routine;
  return result;
}

/// Ranks that report begin the run together, after what the library itself prepares: a context may take a second.
/// Where nothing is reported none waits for another, so that some may be without the library.
void started(routine_id id, int result) {
  if (result != MPI_SUCCESS) return;
  world_started = true;
  start_injecting();
  if (is_reported()) {
    own_time(id, [] {
      MPI_Comm parent = mpi.comm_null;
      if (mpi.Comm_get_parent(&parent) == MPI_SUCCESS && parent != mpi.comm_null) report_apart();
      return meet_all_ranks();
    });
  }
  begin_run();
}

int wrapped_Init(int* argc, char*** argv) {
  const int result =
      own_time(id_Init, [&] { return reinterpret_cast<int (*)(int*, char***)>(real_routines[id_Init])(argc, argv); });
  started(id_Init, result);
  return result;
}

int wrapped_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int result = own_time(id_Init_thread, [&] {
    return reinterpret_cast<int (*)(int*, char***, int, int*)>(real_routines[id_Init_thread])(argc, argv, required,
                                                                                              provided);
  });
  started(id_Init_thread, result);
  return result;
}

int wrapped_Finalize() {
  if ((current_settings().modes & mode_stage) != 0) before_staged_end();
  end_run();
  own_time(id_Finalize, [] {
    report_gathered();
    return 0;
  });
  return own_time(id_Finalize, [] { return reinterpret_cast<int (*)()>(real_routines[id_Finalize])(); });
}

int wrapped_Session_init(MPI_Info info, MPI_Errhandler handler, MPI_Session* session) {
  const int result = own_time(id_Session_init, [&] {
    return reinterpret_cast<int (*)(MPI_Info, MPI_Errhandler, MPI_Session*)>(real_routines[id_Session_init])(
        info, handler, session);
  });
  if (result != MPI_SUCCESS) return result;
  ++open_sessions;
  start_injecting();
  begin_run();
  declaration said = declared_by(info);
  said.from_session = true;
  if (!said.empty()) declarations.set(value_of(*session), said);
  return result;
}

int wrapped_Session_finalize(MPI_Session* session) {
  const std::uintptr_t freed = value_of(*session);
  if ((current_settings().modes & mode_stage) != 0) before_staged_end();
  if (open_sessions.fetch_sub(1) == 1 && !world_started) end_run();
  const declaration said = declarations.take(freed);
  const int result = own_time(id_Session_finalize, [&] {
    return reinterpret_cast<int (*)(MPI_Session*)>(real_routines[id_Session_finalize])(session);
  });
  if (result != MPI_SUCCESS && !said.unsaid()) declarations.set(freed, said);
  return result;
}

/// Its memory is a buffer, that others will read and fill.
template <routine_id id, class Unit>
int create_window(void* base, MPI_Aint size, Unit unit, MPI_Info info, MPI_Comm comm, MPI_Win* made) {
  using type = int(void*, MPI_Aint, Unit, MPI_Info, MPI_Comm, MPI_Win*);
  const active_call call(id, on(comm), memory(base, size));
  const int result = reinterpret_cast<type*>(real_routines[id])(base, size, unit, info, comm, made);
  if (result != MPI_SUCCESS) return result;
  const declaration said = combined(declarations.find(value_of(comm)), declared_by(info));
  if (!said.unsaid()) declarations.set(value_of(*made), said);
  return result;
}
constexpr auto* wrapped_Win_create = &create_window<id_Win_create, int>;
constexpr auto* wrapped_Win_create_c = &create_window<id_Win_create_c, MPI_Aint>;

}  // namespace

void take_timing_wrappers(void** wrappers) {
#define IX_TIMED(name) wrappers[id_##name] = reinterpret_cast<void*>(&wrapped_##name);
  IX_TIMED(Init)
  IX_TIMED(Init_thread)
  IX_TIMED(Finalize)
  IX_TIMED(Session_init)
  IX_TIMED(Session_finalize)
#undef IX_TIMED
}

void take_special_wrappers(void** wrappers) {
#define IX_SPECIAL(name, ...) wrappers[id_##name] = reinterpret_cast<void*>(+wrapped_##name);
#define IX_OBJECT(...)
#define IX_FREE(...)
#include "routines/objects.def"
#undef IX_FREE
#undef IX_OBJECT
#undef IX_SPECIAL
}

}  // namespace imbrex::sessions::IX_MPI
