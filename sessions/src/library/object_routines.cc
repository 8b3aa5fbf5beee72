// Groups, communicators, files and windows inherit the declaration of what they are made from.
#include "base/declared_info.h"
#include "base/handle_table.h"
#include "base/settings.h"
#include "library/wrappers.h"
#include "routines/buffer_usage.h"
#include "routines/dispatch.h"
#include "routines/thread_state.h"
#include "staging/active_call.h"
#include "staging/staging.h"

namespace imbrex::sessions::IX_MPI {

namespace {

template <class Parent, class Made>
void inherit(Parent parent, Made made) {
  const declaration said = declarations.find(value_of(parent));
  if (!said.unsaid()) declarations.set(value_of(made), said);
}

/// An MPI may give out one group for several communicators; only those of a session are sure to mean the same.
void inherit_by_group(MPI_Comm comm, MPI_Group made) {
  const declaration said = declarations.find(value_of(comm));
  if (said.from_session) declarations.set(value_of(made), said);
}

/// What `info` says counts too, where it does not contradict what is inherited.
template <class Parent, class Made>
void inherit(Parent parent, Made made, MPI_Info info) {
  const declaration said = combined(declarations.find(value_of(parent)), declared_by(info));
  if (!said.unsaid()) declarations.set(value_of(made), said);
}

void inherit_both(MPI_Group a, MPI_Group b, MPI_Group made) {
  const declaration of_a = declarations.find(value_of(a));
  const declaration of_b = declarations.find(value_of(b));
  if (!of_a.empty() && of_a.same_places(of_b)) declarations.set(value_of(made), of_a);
}

template <class Handle>
void declare(Handle handle, MPI_Info info) {
  const declaration said = combined(declarations.find(value_of(handle)), declared_by(info));
  if (!said.unsaid()) declarations.set(value_of(handle), said);
}

/// The program's own call of a routine without buffers; the MPI's own pass.
class object_call {
 public:
  explicit object_call(routine_id id) {
    if (!enter(here, __builtin_frame_address(0))) return;
    here.routine = id;
    if ((current_settings().modes & mode_stage) != 0) before_staged_call();
  }
  ~object_call() {
    if (--here.depth == 0) here.routine = no_routine;
  }
  object_call(const object_call&) = delete;
  object_call& operator=(const object_call&) = delete;
};

#define IX_SPECIAL(name, params, args)
#define IX_OBJECT(name, params, args, done)                                            \
  int wrapped_##name params {                                                          \
    const object_call call(id_##name);                                                 \
    const int result = reinterpret_cast<int(*) params>(real_routines[id_##name]) args; \
    if (result == MPI_SUCCESS && here.depth == 1) done;                                \
    return result;                                                                     \
  }
#define IX_FREE(name, params, args, handle)                                              \
  int wrapped_##name params {                                                            \
    const object_call call(id_##name);                                                   \
    const std::uintptr_t freed = value_of(handle);                                       \
    declaration said;                                                                    \
    if (here.depth == 1) said = declarations.take(freed);                                \
    if ((modes_in_use & mode_kinds) != 0) forget_usage_of(freed);                        \
    const int result = reinterpret_cast<int(*) params>(called_routines[id_##name]) args; \
    if (result != MPI_SUCCESS && !said.unsaid()) declarations.set(freed, said);          \
    return result;                                                                       \
  }
#include "routines/objects.def"
#undef IX_FREE
#undef IX_OBJECT

}  // namespace

void take_object_wrappers(void** wrappers) {
#define IX_OBJECT(name, ...) wrappers[id_##name] = reinterpret_cast<void*>(&wrapped_##name);
#define IX_FREE(name, ...) IX_OBJECT(name)
#include "routines/objects.def"
#undef IX_FREE
#undef IX_OBJECT
#undef IX_SPECIAL
}

}  // namespace imbrex::sessions::IX_MPI
