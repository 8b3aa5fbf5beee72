// Where one-sided operations are complete, and the ends of split file accesses.
#include "base/readable_status.h"
#include "routines/real_routine.h"
#include "staging/held_accesses.h"
#include "staging/staged_routines.h"

namespace imbrex::sessions::IX_MPI {

namespace {

template <class Call>
int synchronise(MPI_Win win, int rank, Call call) {
  if (here.depth > 1) return call();
  synchronised_accesses seen(win, rank);
  const int result = call();
  if (result == MPI_SUCCESS) seen.complete();
  return result;
}

int fence(int assertion, MPI_Win win) {
  return synchronise(win, any_rank, [=] { return real<int(int, MPI_Win)>(id_Win_fence)(assertion, win); });
}

/// With one rank, and with all of the window.
template <routine_id id>
int with_one(int rank, MPI_Win win) {
  return synchronise(win, rank, [=] { return real<int(int, MPI_Win)>(id)(rank, win); });
}

template <routine_id id>
int with_all(MPI_Win win) {
  return synchronise(win, any_rank, [=] { return real<int(MPI_Win)>(id)(win); });
}

int win_free(MPI_Win* win) {
  auto* function = real<int(MPI_Win*)>(id_Win_free);
  if (here.depth > 1) return function(win);
  accesses_of_freed left(*win);
  const int result = function(win);
  if (result != MPI_SUCCESS) left.put_back();
  return result;
}

/// The MPI is given the stand-in that it began with.
template <routine_id id, class Address>
int end_access(MPI_File file, Address buf, MPI_Status* status) {
  auto* function = real<int(MPI_File, Address, MPI_Status*)>(id);
  const staged_pointer operation = here.depth == 1 ? take_split(file) : nullptr;
  if (operation == nullptr) return function(file, buf, status);
  readable_status s(status);
  completed_operations done;
  const int result = function(file, const_cast<Address>(operation->address_for(0, buf)), s.get());
  if (result == MPI_SUCCESS) done.add(operation, s.get());
  return result;
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
  enter(routines, id_Win_free, &win_free);
  enter(routines, id_File_read_all_end, &end_access<id_File_read_all_end, void*>);
  enter(routines, id_File_read_at_all_end, &end_access<id_File_read_at_all_end, void*>);
  enter(routines, id_File_read_ordered_end, &end_access<id_File_read_ordered_end, void*>);
  enter(routines, id_File_write_all_end, &end_access<id_File_write_all_end, const void*>);
  enter(routines, id_File_write_at_all_end, &end_access<id_File_write_at_all_end, const void*>);
  enter(routines, id_File_write_ordered_end, &end_access<id_File_write_ordered_end, const void*>);
}

}  // namespace imbrex::sessions::IX_MPI
