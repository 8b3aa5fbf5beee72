/* Messages, packing, files and one-sided operations with device memory and with host memory. Usage: staged_accesses_job
   FILE. 2 ranks. */
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

static void files(const char* path) {
  const MPI_Offset own = 8 * N * (MPI_Offset)rank;
  MPI_File f;
  MPI_File_open(W, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &f);
#define FILE_SAME(what, write, read)                                    \
  SAME(W, what, {                                                       \
    MPI_File_set_size(f, 0);                                            \
    MPI_File_seek(f, own, MPI_SEEK_SET);                                \
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);                           \
    write;                                                              \
    MPI_File_sync(f);                                                   \
    MPI_Barrier(W);                                                     \
    MPI_File_sync(f);                                                   \
    MPI_File_seek(f, own, MPI_SEEK_SET);                                \
    MPI_File_seek_shared(f, 0, MPI_SEEK_SET);                           \
    read;                                                               \
  })
  FILE_SAME("File_write", MPI_File_write(f, s, N, D, I), MPI_File_read(f, r, N, D, I));
  FILE_SAME("File_write_all", MPI_File_write_all(f, s, N, D, I), MPI_File_read_all(f, r, N, D, I));
  FILE_SAME("File_write_at", MPI_File_write_at(f, own, s, 50, D, I), MPI_File_read_at(f, own, r, 50, D, I));
  FILE_SAME("File_write_at_all", MPI_File_write_at_all(f, own, s, N, D, I), MPI_File_read_at_all(f, own, r, N, D, I));
  FILE_SAME("File_write_ordered", MPI_File_write_ordered(f, s, 50, D, I), MPI_File_read_ordered(f, r, 50, D, I));
  FILE_SAME("File_write_shared", if (rank == 0) MPI_File_write_shared(f, s, 50, D, I),
            if (rank == 0) MPI_File_read_shared(f, r, 50, D, I));
  FILE_SAME("File_iwrite", WAIT(MPI_File_iwrite(f, s, N, D, &q)), WAIT(MPI_File_iread(f, r, N, D, &q)));
  FILE_SAME("File_iwrite_at", WAIT(MPI_File_iwrite_at(f, own, s, N, D, &q)), WAIT(MPI_File_iread_at(f, own, r, N, D, &q)));
  FILE_SAME("File_iwrite_all", WAIT(MPI_File_iwrite_all(f, s, N, D, &q)), WAIT(MPI_File_iread_all(f, r, N, D, &q)));
  FILE_SAME("File_iwrite_at_all", WAIT(MPI_File_iwrite_at_all(f, own, s, N, D, &q)),
            WAIT(MPI_File_iread_at_all(f, own, r, N, D, &q)));
  FILE_SAME("File_iwrite_shared", if (rank == 0) WAIT(MPI_File_iwrite_shared(f, s, 50, D, &q)),
            if (rank == 0) WAIT(MPI_File_iread_shared(f, r, 50, D, &q)));
#define SPLIT(name, ...)                    \
  {                                         \
    MPI_File_##name##_begin(__VA_ARGS__);   \
    MPI_File_##name##_end(f, strstr(#name, "read") != NULL ? (void*)r : (void*)s, I); \
  }
  FILE_SAME("File_write_all_begin", SPLIT(write_all, f, s, N, D), SPLIT(read_all, f, r, N, D));
  FILE_SAME("File_write_at_all_begin", SPLIT(write_at_all, f, own, s, N, D), SPLIT(read_at_all, f, own, r, N, D));
  FILE_SAME("File_write_ordered_begin", SPLIT(write_ordered, f, s, 50, D), SPLIT(read_ordered, f, r, 50, D));
  FILE_SAME("past the end", MPI_File_write_at(f, own, s, 50, D, I), MPI_File_read_at(f, 8 * N, r, 100, D, I));
#if MPI_VERSION >= 4
  FILE_SAME("File_write_at_c", MPI_File_write_at_c(f, own, s, N, D, I), MPI_File_read_at_c(f, own, r, N, D, I));
#endif
  MPI_File_close(&f);
}

/* `w`: this rank's window, which is looked at too, by copying its beginning into the results. */
static void windows(void) {
  double* w;
  MPI_Win win;
  MPI_Group world, other;
  MPI_Win_allocate(8 * N, 8, MPI_INFO_NULL, W, &w, &win);
  MPI_Comm_group(W, &world);
  MPI_Group_incl(world, 1, &peer, &other);
#define WINDOW_SAME(what, ...)                                                  \
  SAME(W, what, {                                                               \
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);                             \
    for (int i = 0; i < N; ++i) w[i] = 3 * i + rank;                            \
    MPI_Win_unlock(rank, win);                                                  \
    MPI_Barrier(W);                                                             \
    __VA_ARGS__;                                                                \
    MPI_Barrier(W);                                                             \
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);                                \
    MPI_Sendrecv(w, 1000, D, rank, 9, s + 5000, 1000, D, rank, 9, W, I);        \
    MPI_Win_unlock(rank, win);                                                  \
  })
#define FENCED(...)       \
  {                       \
    MPI_Win_fence(0, win); \
    __VA_ARGS__;          \
    MPI_Win_fence(0, win); \
  }
#define LOCKED(...)                              \
  {                                              \
    MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win); \
    __VA_ARGS__;                                 \
    MPI_Win_unlock(peer, win);                   \
  }
  WINDOW_SAME("Put", FENCED(MPI_Put(s, 500, D, peer, 0, 500, D, win)));
  WINDOW_SAME("Get", FENCED(MPI_Get(r, 500, D, peer, 20, 500, D, win)));
  WINDOW_SAME("Get of nobody", FENCED(MPI_Get(r, 500, D, MPI_PROC_NULL, 20, 500, D, win)));
  WINDOW_SAME("Put and Get", FENCED(MPI_Put(s, 100, D, peer, 0, 100, D, win); MPI_Put(s + 7, 100, D, rank, 200, 100, D, win);
                                    MPI_Get(r, 300, D, peer, 400, 300, D, win); MPI_Get(r + 400, 3, D, rank, 700, 3, D, win)));
  WINDOW_SAME("Accumulate", FENCED(MPI_Accumulate(s, 500, D, peer, 0, 500, D, MPI_SUM, win)));
  WINDOW_SAME("Get_accumulate", FENCED(MPI_Get_accumulate(s, 90, D, r, 90, D, peer, 0, 90, D, MPI_SUM, win)));
  WINDOW_SAME("Fetch_and_op", LOCKED(MPI_Fetch_and_op(s, r, D, peer, 3, MPI_SUM, win)));
#if !defined(OPEN_MPI) || OMPI_MAJOR_VERSION >= 5 /* that of Open MPI 4.1 may end in a segmentation fault of its own */
  WINDOW_SAME("Compare_and_swap", LOCKED(MPI_Compare_and_swap(s, s + 1, r, MPI_LONG, peer, 4, win)));
#endif
  WINDOW_SAME("Put, locked", LOCKED(MPI_Put(s, 500, D, peer, 0, 500, D, win)));
  WINDOW_SAME("Get, flushed", LOCKED({
                MPI_Get(r, 500, D, peer, 20, 500, D, win);
                MPI_Win_flush(peer, win);
                MPI_Sendrecv(r, 500, D, rank, 1, s, 500, D, rank, 1, W, I);
              }));
  WINDOW_SAME("Get, all", {
    MPI_Win_lock_all(0, win);
    MPI_Get(r, 500, D, peer, 20, 500, D, win);
    MPI_Win_flush_local_all(win);
    MPI_Sendrecv(r, 500, D, rank, 1, s, 500, D, rank, 1, W, I);
    MPI_Get(r, 500, D, peer, 30, 500, D, win);
    MPI_Win_unlock_all(win);
  });
  WINDOW_SAME("Rput", LOCKED(WAIT(MPI_Rput(s, 500, D, peer, 0, 500, D, win, &q))));
  WINDOW_SAME("Rget", LOCKED(WAIT(MPI_Rget(r, 500, D, peer, 20, 500, D, win, &q))));
  WINDOW_SAME("Raccumulate", LOCKED(WAIT(MPI_Raccumulate(s, 500, D, peer, 0, 500, D, MPI_SUM, win, &q))));
  WINDOW_SAME("Rget_accumulate",
              LOCKED(WAIT(MPI_Rget_accumulate(s, 90, D, r, 90, D, peer, 0, 90, D, MPI_SUM, win, &q))));
  WINDOW_SAME("Put and complete", {
    MPI_Win_post(other, 0, win);
    MPI_Win_start(other, 0, win);
    MPI_Put(s, 500, D, peer, 0, 500, D, win);
    MPI_Get(r, 50, D, peer, 600, 50, D, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
  });
  MPI_Group_free(&other);
  MPI_Group_free(&world);
  MPI_Win_free(&win);
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
  files(argv[argc - 1]);
  windows();
  return end_of_pairs("all accesses the same");
}
