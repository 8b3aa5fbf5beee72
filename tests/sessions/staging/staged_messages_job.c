/* Messages, types and packing with device memory and with host memory. 2 ranks. */
#include "staged_pairs.h"

#define D MPI_DOUBLE
#define W MPI_COMM_WORLD
#define I MPI_STATUS_IGNORE
#define WAIT(...)          \
  {                        \
    MPI_Request q;         \
    __VA_ARGS__;           \
    MPI_Wait(&q, I);       \
  }

static int peer;

static void requests(void) {
  static char attached[2 * N * sizeof(double)];
  MPI_Buffer_attach(attached, sizeof attached);
  SAME(W, "Imrecv", {
    MPI_Request q[2];
    MPI_Message message;
    MPI_Isend(s, N, D, peer, 1, W, &q[0]);
    MPI_Mprobe(peer, 1, W, &message, I);
    MPI_Imrecv(r, N, D, &message, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  });
  SAME(W, "Ibsend, less than the buffer", {
    MPI_Request q[2];
    MPI_Irecv(r, N, D, peer, 2, W, &q[0]);
    MPI_Ibsend(s, 10, D, peer, 2, W, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  });
  SAME(W, "Bsend_init", {
    MPI_Request q;
    MPI_Bsend_init(s, 300, D, peer, 3, W, &q);
    for (int turn = 0; turn < 2; ++turn) {
      MPI_Start(&q);
      MPI_Recv(turn == 0 ? r : s, 300, D, peer, 3, W, I); /* what is sent next came first */
      MPI_Wait(&q, I);
    }
    MPI_Request_free(&q);
  });
  SAME(W, "Recv_init, waited for between its turns", {
    MPI_Request q;
    MPI_Recv_init(r, 300, D, peer, 4, W, &q);
    for (int turn = 0; turn < 2; ++turn) {
      MPI_Start(&q);
      MPI_Send(s + turn, 300, D, peer, 4, W);
      MPI_Wait(&q, I);
      MPI_Sendrecv(s, 300, D, rank, 5, r, 300, D, rank, 5, W, I);
      MPI_Wait(&q, I); /* not under way: leaves `r` as it is */
    }
    MPI_Request_free(&q);
  });
  SAME(W, "nobody", {
    MPI_Request q[4];
    MPI_Irecv(r, 5, D, MPI_PROC_NULL, 4, W, &q[0]);
    MPI_Irecv(r + 5, 5, D, MPI_PROC_NULL, 4, W, &q[1]);
    MPI_Isend(s, 5, D, MPI_PROC_NULL, 4, W, &q[2]);
    MPI_Isend(s, 5, D, MPI_PROC_NULL, 4, W, &q[3]);
    MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
    MPI_Recv(r, 5, D, MPI_PROC_NULL, 4, W, I);
  });
  SAME(W, "cancelled", {
    MPI_Request q;
    MPI_Irecv(r, 5, D, peer, 999, W, &q);
    MPI_Cancel(&q);
    MPI_Wait(&q, I);
  });
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
  SAME(W, "Request_get_status_all and its like", {
    MPI_Request q[3];
    int done = 0, index = 0, num_done = 0, indices[3];
    MPI_Irecv(r, N, D, peer, 12, W, &q[0]);
    MPI_Isend(s, N, D, peer, 12, W, &q[1]);
    q[2] = MPI_REQUEST_NULL;
    while (!done) MPI_Request_get_status_any(3, q, &index, &done, I);
    for (done = 0; !done;) MPI_Request_get_status_all(3, q, &done, MPI_STATUSES_IGNORE);
    MPI_Request_get_status_some(3, q, &num_done, indices, MPI_STATUSES_IGNORE);
    failures += num_done != 2 || indices[0] != 0 || indices[1] != 1;
    MPI_Sendrecv(r, N, D, rank, 13, s, N, D, rank, 13, W, I); /* it is there */
    MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
  });
#endif
#if MPI_VERSION >= 4
  SAME(W, "Isendrecv", WAIT(MPI_Isendrecv(s, 10, D, peer, 5, r, 20, D, peer, 5, W, &q)));
  SAME(W, "Isendrecv_replace", WAIT(MPI_Isendrecv_replace(s, N, D, peer, 6, peer, 6, W, &q)));
  SAME(W, "Isend_c", {
    MPI_Request q[2];
    MPI_Irecv_c(r, N, D, peer, 7, W, &q[0]);
    MPI_Isend_c(s, N - 1, D, peer, 7, W, &q[1]);
    MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
  });
  SAME(W, "Send_c", {
    if (rank == 0) MPI_Send_c(s, N, D, 1, 8, W);
    if (rank == 1) MPI_Recv_c(r, N, D, 0, 8, W, I);
  });
#endif
  MPI_Buffer_detach(attached, &(int){0});
}

/* A request that is freed under way goes on; that it is complete is learned from other messages. */
static void freed(void) {
  SAME(W, "freed requests", {
    MPI_Request q;
    MPI_Irecv(r, N, D, peer, 10, W, &q);
    MPI_Request_free(&q);
    failures += q != MPI_REQUEST_NULL;
    MPI_Isend(s, N, D, peer, 10, W, &q);
    MPI_Request_free(&q);
    for (double last = -1; last < 0;) { /* what was there is negative */
      int any;
      MPI_Iprobe(MPI_ANY_SOURCE, 11, W, &any, I);
      if ((places & 2) != 0) cuMemcpyDtoH_v2(&last, (device_pointer)(r + N - 1), sizeof last);
      if ((places & 2) == 0) last = ((volatile double*)r)[N - 1];
    }
    MPI_Barrier(W);
  });
}

/* Types whose data does not lie in a row from the buffer's address. */
static void types(void) {
  MPI_Datatype turned, backwards, shifted, absolute;
  MPI_Type_indexed(2, (int[]){1, 1}, (int[]){1, 0}, D, &turned);
  MPI_Type_vector(5, 1, -2, D, &backwards);
  MPI_Type_create_indexed_block(1, 3, (int[]){4}, D, &shifted);
  MPI_Type_commit(&turned);
  MPI_Type_commit(&backwards);
  MPI_Type_commit(&shifted);
  SAME(W, "turned", MPI_Sendrecv(s, 3, D, peer, 1, r, 4, turned, peer, 1, W, I));
  SAME(W, "backwards", MPI_Sendrecv(s + 8, 1, backwards, peer, 1, r + 20, 1, backwards, peer, 1, W, I));
  SAME(W, "backwards twice", WAIT(MPI_Iallgather(s + 30, 1, backwards, r + 60, 1, backwards, W, &q)));
  SAME(W, "shifted", MPI_Sendrecv(s - 4, 1, shifted, peer, 1, r - 4, 1, shifted, peer, 1, W, I));
  SAME(W, "MPI_BOTTOM", {
    MPI_Aint where[2];
    MPI_Get_address(s + 3, &where[0]);
    MPI_Get_address(s + 50, &where[1]);
    MPI_Type_create_hindexed_block(2, 4, where, D, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Sendrecv(MPI_BOTTOM, 1, absolute, peer, 1, r, 8, D, peer, 1, W, I);
    MPI_Type_free(&absolute);
  });
  MPI_Type_free(&turned);
  MPI_Type_free(&backwards);
  MPI_Type_free(&shifted);
}

static void packing(void) {
  SAME(W, "Pack", {
    int at = 16;
    MPI_Pack(s + 5, 20, D, r, 800, &at, W);
    MPI_Pack(s, 30, D, r, 800, &at, W);
    failures += at != 16 + 400;
  });
  SAME(W, "Unpack", {
    int at = 24;
    MPI_Unpack(s, 800, &at, r, 40, D, W);
    failures += at != 24 + 320;
  });
  SAME(W, "Pack_external", {
    MPI_Aint at = 8;
    MPI_Pack_external("external32", s, 20, D, r, 400, &at);
    at = 8;
    MPI_Unpack_external("external32", r, 400, &at, s + 100, 20, D);
  });
  SAME(W, "Reduce_local", MPI_Reduce_local(s, r, N, D, MPI_SUM));
#if MPI_VERSION >= 4
  SAME(W, "Pack_c", {
    MPI_Count at = 16;
    MPI_Pack_c(s + 5, 20, D, r, 800, &at, W);
  });
#endif
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(W, &rank);
  MPI_Comm_size(W, &ranks);
  peer = 1 - rank;
  make_pairs();
  requests();
  freed();
  types();
  packing();
  return end_of_pairs("all messages the same");
}
