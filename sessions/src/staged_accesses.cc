// Where one-sided operations are complete, and the ends of split file accesses.
#include "dispatch.h"
#include "held_operations.h"
#include "staged_routines.h"

namespace imbrex::sessions::IX_MPI {

namespace {

template <class Type>
Type* real(routine_id id) {
  return reinterpret_cast<Type*>(real_routines[id]);
}

int done(int result, MPI_Win win, int rank) {
  if (result == MPI_SUCCESS && here.depth == 1) synchronised(win, rank);
  return result;
}

int fence(int assertion, MPI_Win win) {
  return done(real<int(int, MPI_Win)>(id_Win_fence)(assertion, win), win, any_rank);
}

/// With one rank, and with all of the window.
template <routine_id id>
int with_one(int rank, MPI_Win win) {
  return done(real<int(int, MPI_Win)>(id)(rank, win), win, rank);
}

template <routine_id id>
int with_all(MPI_Win win) {
  return done(real<int(MPI_Win)>(id)(win), win, any_rank);
}

/// The MPI is given the stand-in that it began with.
template <routine_id id, class Address>
int end_access(MPI_File file, Address buf, MPI_Status* status) {
  auto* function = real<int(MPI_File, Address, MPI_Status*)>(id);
  const staged_pointer operation = here.depth == 1 ? take_split(file) : nullptr;
  if (operation == nullptr) return function(file, buf, status);
  MPI_Status own;
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const int result = function(file, const_cast<Address>(operation->address_for(0, buf)), used);
  if (result == MPI_SUCCESS) operation->complete(used);
  finish_copies();
  return result;
}

template <class Function>
void enter(void** routines, routine_id id, Function* function) {
  routines[id] = reinterpret_cast<void*>(function);
}

}  // namespace

void take_staged_accesses(void** routines) {
  enter(routines, id_Win_fence, &fence);
  enter(routines, id_Win_flush, &with_one<id_Win_flush>);
  enter(routines, id_Win_flush_local, &with_one<id_Win_flush_local>);
  enter(routines, id_Win_unlock, &with_one<id_Win_unlock>);
  enter(routines, id_Win_flush_all, &with_all<id_Win_flush_all>);
  enter(routines, id_Win_flush_local_all, &with_all<id_Win_flush_local_all>);
  enter(routines, id_Win_unlock_all, &with_all<id_Win_unlock_all>);
  enter(routines, id_Win_complete, &with_all<id_Win_complete>);
  enter(routines, id_File_read_all_end, &end_access<id_File_read_all_end, void*>);
  enter(routines, id_File_read_at_all_end, &end_access<id_File_read_at_all_end, void*>);
  enter(routines, id_File_read_ordered_end, &end_access<id_File_read_ordered_end, void*>);
  enter(routines, id_File_write_all_end, &end_access<id_File_write_all_end, const void*>);
  enter(routines, id_File_write_at_all_end, &end_access<id_File_write_at_all_end, const void*>);
  enter(routines, id_File_write_ordered_end, &end_access<id_File_write_ordered_end, const void*>);
}

}  // namespace imbrex::sessions::IX_MPI
