// Nonblocking sends of device memory, which only start their copies, and starts of persistent requests.
#include <utility>

#include "dispatch.h"
#include "held_operations.h"
#include "staged_routines.h"

namespace imbrex::sessions::IX_MPI {

namespace {

template <class Type>
Type* real(routine_id id) {
  return reinterpret_cast<Type*>(real_routines[id]);
}

/// The persistent twin of a send takes its place: it can be started later, under a handle that the program has already.
template <routine_id id, routine_id init_id, class Count>
int isend(const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  using function = int(const void*, Count, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
  if (here.depth > 1) return real<function>(id)(buf, count, type, dest, tag, comm, request);
  auto operation = std::make_shared<staged_operation>(on(comm), std::initializer_list<buffer>{out(buf, count, type)});
  if (!operation->staged()) {
    start_waiting_sends();  // messages do not overtake each other
    return real<function>(id)(buf, count, type, dest, tag, comm, request);
  }
  const copy_mark mark = operation->begin_copies();
  const int result = real<function>(init_id)(operation->address_for(0, buf), count, type, dest, tag, comm, request);
  if (result != MPI_SUCCESS) {
    wait_for_mark(mark);
    return result;
  }
  hold_waiting_send(*request, std::move(operation), mark);
  return result;
}

int start(MPI_Request* request) {
  if (here.depth == 1) begin_persistent(*request);
  return real<int(MPI_Request*)>(id_Start)(request);
}

int startall(int count, MPI_Request requests[]) {
  for (int i = 0; here.depth == 1 && i < count; ++i) begin_persistent(requests[i]);
  return real<int(int, MPI_Request[])>(id_Startall)(count, requests);
}

template <class Function>
void enter(void** routines, routine_id id, Function* function) {
  if (real_routines[id] != nullptr) routines[id] = reinterpret_cast<void*>(function);
}

}  // namespace

void take_staged_sends(void** routines) {
  enter(routines, id_Isend, &isend<id_Isend, id_Send_init, int>);
  enter(routines, id_Issend, &isend<id_Issend, id_Ssend_init, int>);
  enter(routines, id_Irsend, &isend<id_Irsend, id_Rsend_init, int>);
  enter(routines, id_Isend_c, &isend<id_Isend_c, id_Send_init_c, MPI_Count>);
  enter(routines, id_Issend_c, &isend<id_Issend_c, id_Ssend_init_c, MPI_Count>);
  enter(routines, id_Irsend_c, &isend<id_Irsend_c, id_Rsend_init_c, MPI_Count>);
  enter(routines, id_Start, &start);
  enter(routines, id_Startall, &startall);
}

}  // namespace imbrex::sessions::IX_MPI
