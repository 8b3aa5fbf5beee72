// The MPI's own routines, as functions of a type.
#pragma once

#include "routines/dispatch.h"

namespace imbrex::sessions {

/// Null where this MPI has none.
template <class Type>
Type* real(routine_id id) {
  return reinterpret_cast<Type*>(real_routines[id]);
}

}  // namespace imbrex::sessions
