// Collectives of device memory. Between two groups (intercommunicators) device memory is refused.
#include "buffer.h"
#include "dispatch.h"
#include "driver_queries.h"
#include "settings.h"
#include "staged_buffer.h"
#include "staged_routines.h"
#include "thread_state.h"

namespace imbrex::sessions::IX_MPI {

namespace {

int ranks_of(MPI_Comm comm) {
  int n = 0;
  mpi.Comm_size(comm, &n);
  return n;
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  mpi.Comm_rank(comm, &rank);
  return rank;
}

/// The stand-ins of one call. What a collective fills may be its input too, or keep gaps: it is copied both ways unless
/// it is said to be `filled` whole.
class stand_ins {
 public:
  explicit stand_ins(MPI_Comm comm) { mpi.Comm_test_inter(comm, &inter_); }
  void send(const void*& address, MPI_Count count, MPI_Datatype type) {
    take(sent_, address, count, type, true);
    address = sent_.address();
  }
  void receive(void*& address, MPI_Count count, MPI_Datatype type, bool filled) {
    take(received_, address, count, type, !filled);
    address = received_.address();
  }
  /// Both ways in one buffer.
  void update(void*& address, MPI_Count count, MPI_Datatype type, bool needed, bool returned) {
    take(received_, address, count, type, needed);
    returned_ = returned;
    address = received_.address();
  }
  template <class Call>
  int around(Call call) {
    if (sent_.staged() || received_.staged()) finish_copies();
    const int result = call();
    if (result != MPI_SUCCESS || !received_.staged() || !returned_) return result;
    received_.start_return();
    finish_copies();
    return result;
  }

 private:
  void take(staged_buffer& b, const void* address, MPI_Count count, MPI_Datatype type, bool copied) {
    if (address == nullptr || address == MPI_IN_PLACE) {
      b = staged_buffer(address, 0, type, false);
      return;
    }
    if (inter_ != 0 && place_of(address) == place::device) {
      give_up("%s: stage does not cover intercommunicators, and buffer %p is device memory", name_of(here.routine),
              address);
    }
    b = staged_buffer(address, count, type, copied);
  }

  int inter_ = 0;
  bool returned_ = true;
  staged_buffer sent_, received_;
};

#define IX_STAGED(name, params, args, ...)                                                           \
  int staged_##name params {                                                                         \
    stand_ins s(comm);                                                                               \
    __VA_ARGS__;                                                                                     \
    return s.around([=] { return reinterpret_cast<int(*) params>(real_routines[id_##name]) args; }); \
  }
#define IX_SEND_PART const void *sendbuf, int sendcount, MPI_Datatype sendtype
#define IX_RECV_PART void *recvbuf, int recvcount, MPI_Datatype recvtype
#define IX_SENDS_PART const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype
#define IX_RECVS_PART void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype
#define IX_REDUCTION const void *sendbuf, void *recvbuf, int count, MPI_Datatype type, MPI_Op op

IX_STAGED(Bcast, (void* buf, int count, MPI_Datatype type, int root, MPI_Comm comm), (buf, count, type, root, comm),
          const bool is_root = rank_in(comm) == root;
          s.update(buf, count, type, is_root, !is_root))
IX_STAGED(Allreduce, (IX_REDUCTION, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm),
          s.send(sendbuf, count, type);
          s.receive(recvbuf, count, type, sendbuf != MPI_IN_PLACE))
IX_STAGED(Reduce, (IX_REDUCTION, int root, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, root, comm),
          s.send(sendbuf, count, type);
          if (rank_in(comm) == root) s.receive(recvbuf, count, type, sendbuf != MPI_IN_PLACE))
IX_STAGED(Reduce_scatter_block, (IX_REDUCTION, MPI_Comm comm), (sendbuf, recvbuf, count, type, op, comm),
          const int n = ranks_of(comm);
          s.send(sendbuf, MPI_Count{n} * count, type);
          s.receive(recvbuf, sendbuf == MPI_IN_PLACE ? MPI_Count{n} * count : count, type, sendbuf != MPI_IN_PLACE))
IX_STAGED(Gather, (IX_SEND_PART, IX_RECV_PART, int root, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
          s.send(sendbuf, sendcount, sendtype);
          if (rank_in(comm) == root)
              s.receive(recvbuf, MPI_Count{ranks_of(comm)} * recvcount, recvtype, sendbuf != MPI_IN_PLACE))
IX_STAGED(Gatherv, (IX_SEND_PART, IX_RECVS_PART, int root, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root, comm),
          s.send(sendbuf, sendcount, sendtype);
          if (rank_in(comm) == root) s.receive(recvbuf, reach_of(recvcounts, displs, ranks_of(comm)), recvtype, false))
IX_STAGED(Scatter, (IX_SEND_PART, IX_RECV_PART, int root, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm),
          if (rank_in(comm) == root) s.send(sendbuf, MPI_Count{ranks_of(comm)} * sendcount, sendtype);
          s.receive(recvbuf, recvcount, recvtype, true))
IX_STAGED(Scatterv, (IX_SENDS_PART, IX_RECV_PART, int root, MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcount, recvtype, root, comm),
          if (rank_in(comm) == root) s.send(sendbuf, reach_of(sendcounts, sdispls, ranks_of(comm)), sendtype);
          s.receive(recvbuf, recvcount, recvtype, false))
IX_STAGED(Allgather, (IX_SEND_PART, IX_RECV_PART, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), s.send(sendbuf, sendcount, sendtype);
          s.receive(recvbuf, MPI_Count{ranks_of(comm)} * recvcount, recvtype, sendbuf != MPI_IN_PLACE))
IX_STAGED(Allgatherv, (IX_SEND_PART, IX_RECVS_PART, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
          s.send(sendbuf, sendcount, sendtype);
          s.receive(recvbuf, reach_of(recvcounts, displs, ranks_of(comm)), recvtype, false))
IX_STAGED(Alltoall, (IX_SEND_PART, IX_RECV_PART, MPI_Comm comm),
          (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm), const MPI_Count n = ranks_of(comm);
          s.send(sendbuf, n* sendcount, sendtype); s.receive(recvbuf, n* recvcount, recvtype, sendbuf != MPI_IN_PLACE))
IX_STAGED(Alltoallv, (IX_SENDS_PART, IX_RECVS_PART, MPI_Comm comm),
          (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, displs, recvtype, comm),
          const int n = ranks_of(comm);
          if (sendbuf != MPI_IN_PLACE) s.send(sendbuf, reach_of(sendcounts, sdispls, n), sendtype);
          s.receive(recvbuf, reach_of(recvcounts, displs, n), recvtype, false))

}  // namespace

void take_staged_collectives(void** routines) {
#define IX_ENTER(name) routines[id_##name] = reinterpret_cast<void*>(&staged_##name);
  IX_ENTER(Bcast)
  IX_ENTER(Allreduce)
  IX_ENTER(Reduce)
  IX_ENTER(Reduce_scatter_block)
  IX_ENTER(Gather)
  IX_ENTER(Gatherv)
  IX_ENTER(Scatter)
  IX_ENTER(Scatterv)
  IX_ENTER(Allgather)
  IX_ENTER(Allgatherv)
  IX_ENTER(Alltoall)
  IX_ENTER(Alltoallv)
#undef IX_ENTER
}

}  // namespace imbrex::sessions::IX_MPI
