// Point-to-point messages of device memory. A host buffer takes the MPI's own routine, unless sends wait before it.
#include <utility>

#include "dispatch.h"
#include "settings.h"
#include "staged_requests.h"
#include "staged_routines.h"

namespace imbrex::sessions::IX_MPI {

namespace {

template <class Type>
Type* real(routine_id id) {
  return reinterpret_cast<Type*>(real_routines[id]);
}

using send_type = int(const void*, int, MPI_Datatype, int, int, MPI_Comm);
using isend_type = int(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
using irecv_type = int(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

template <routine_id id>
int send(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  const staged_buffer b(buf, count, type, true);
  if (b.staged()) finish_copies();
  return real<send_type>(id)(b.address(), count, type, dest, tag, comm);
}

/// The persistent twin of a send takes its place: it can be started later, under a handle that the program has already.
template <routine_id id, routine_id init_id>
int isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  staged_buffer b(buf, count, type, true);
  if (!b.staged()) {
    start_waiting_sends();  // messages do not overtake each other
    return real<isend_type>(id)(buf, count, type, dest, tag, comm, request);
  }
  const int result = real<isend_type>(init_id)(b.address(), count, type, dest, tag, comm, request);
  if (result == MPI_SUCCESS) add_staged_request(*request, staged_kind::send, std::move(b));
  return result;
}

template <routine_id id>
int send_init(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  staged_buffer b(buf, count, type, false);
  if (b.staged()) finish_copies();
  const int result = real<isend_type>(id)(b.address(), count, type, dest, tag, comm, request);
  if (result == MPI_SUCCESS && b.staged()) add_staged_request(*request, staged_kind::persistent_send, std::move(b));
  return result;
}

template <routine_id id, staged_kind kind>
int irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  staged_buffer b(buf, count, type, false);
  if (b.staged()) finish_copies();
  const int result = real<irecv_type>(id)(b.address(), count, type, source, tag, comm, request);
  if (result == MPI_SUCCESS && b.staged()) add_staged_request(*request, kind, std::move(b));
  return result;
}

/// Brings back what a blocking receive got.
void return_received(staged_buffer& b, MPI_Status* status) {
  if (!b.staged()) return;
  int bytes = 0;
  const bool known = mpi.Get_count(status, mpi.byte, &bytes) == MPI_SUCCESS && bytes >= 0;
  b.start_return(known ? static_cast<std::size_t>(bytes) : ~std::size_t{0});
  finish_copies();
}

int recv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  staged_buffer b(buf, count, type, false);
  if (b.staged()) finish_copies();
  MPI_Status own;
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const int result = real<int(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*)>(id_Recv)(
      b.address(), count, type, source, tag, comm, used);
  if (result == MPI_SUCCESS) return_received(b, used);
  return result;
}

int mrecv(void* buf, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status) {
  staged_buffer b(buf, count, type, false);
  if (b.staged()) finish_copies();
  MPI_Status own;
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const int result =
      real<int(void*, int, MPI_Datatype, MPI_Message*, MPI_Status*)>(id_Mrecv)(b.address(), count, type, message, used);
  if (result == MPI_SUCCESS) return_received(b, used);
  return result;
}

int sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
             int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  using type = int(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
  const staged_buffer sent(sendbuf, sendcount, sendtype, true);
  staged_buffer received(recvbuf, recvcount, recvtype, false);
  if (sent.staged() || received.staged()) finish_copies();
  MPI_Status own;
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const int result = real<type>(id_Sendrecv)(sent.address(), sendcount, sendtype, dest, sendtag, received.address(),
                                             recvcount, recvtype, source, recvtag, comm, used);
  if (result == MPI_SUCCESS) return_received(received, used);
  return result;
}

int sendrecv_replace(void* buf, int count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag,
                     MPI_Comm comm, MPI_Status* status) {
  using function = int(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*);
  staged_buffer b(buf, count, type, true);
  if (b.staged()) finish_copies();
  MPI_Status own;
  MPI_Status* used = status == MPI_STATUS_IGNORE ? &own : status;
  const int result =
      real<function>(id_Sendrecv_replace)(b.address(), count, type, dest, sendtag, source, recvtag, comm, used);
  if (result == MPI_SUCCESS) return_received(b, used);
  return result;
}

int start(MPI_Request* request) {
  refresh_staged(*request);
  if (is_staged(*request)) finish_copies();
  return real<int(MPI_Request*)>(id_Start)(request);
}

int startall(int count, MPI_Request requests[]) {
  bool staged = false;
  for (int i = 0; i < count; ++i) {
    refresh_staged(requests[i]);
    staged = staged || is_staged(requests[i]);
  }
  if (staged) finish_copies();
  return real<int(int, MPI_Request[])>(id_Startall)(count, requests);
}

int request_free(MPI_Request* request) {
  if (!forget_staged(*request)) {
    give_up("MPI_Request_free: stage does not cover freeing a request of device memory that is under way; wait for it");
  }
  return real<int(MPI_Request*)>(id_Request_free)(request);
}

int request_get_status(MPI_Request request, int* flag, MPI_Status* status) {
  if (is_staged(request)) {
    give_up("MPI_Request_get_status: stage does not cover it for a request of device memory; use MPI_Test");
  }
  return real<int(MPI_Request, int*, MPI_Status*)>(id_Request_get_status)(request, flag, status);
}

template <class Function>
void enter(void** routines, routine_id id, Function* function) {
  if (real_routines[id] != nullptr) routines[id] = reinterpret_cast<void*>(function);
}

}  // namespace

void take_staged_messages(void** routines) {
  enter(routines, id_Send, &send<id_Send>);
  enter(routines, id_Bsend, &send<id_Bsend>);
  enter(routines, id_Ssend, &send<id_Ssend>);
  enter(routines, id_Rsend, &send<id_Rsend>);
  enter(routines, id_Isend, &isend<id_Isend, id_Send_init>);
  enter(routines, id_Issend, &isend<id_Issend, id_Ssend_init>);
  enter(routines, id_Irsend, &isend<id_Irsend, id_Rsend_init>);
  enter(routines, id_Send_init, &send_init<id_Send_init>);
  enter(routines, id_Bsend_init, &send_init<id_Bsend_init>);
  enter(routines, id_Ssend_init, &send_init<id_Ssend_init>);
  enter(routines, id_Rsend_init, &send_init<id_Rsend_init>);
  enter(routines, id_Recv, &recv);
  enter(routines, id_Mrecv, &mrecv);
  enter(routines, id_Irecv, &irecv<id_Irecv, staged_kind::receive>);
  enter(routines, id_Recv_init, &irecv<id_Recv_init, staged_kind::persistent_receive>);
  enter(routines, id_Sendrecv, &sendrecv);
  enter(routines, id_Sendrecv_replace, &sendrecv_replace);
  enter(routines, id_Start, &start);
  enter(routines, id_Startall, &startall);
  enter(routines, id_Request_free, &request_free);
  enter(routines, id_Request_get_status, &request_get_status);
}

}  // namespace imbrex::sessions::IX_MPI
