/* Files and one-sided operations with device memory and with host memory. Usage: staged_accesses_job FILE. 2 ranks. */
#include <unistd.h>

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
  WINDOW_SAME("Get of nobody, then of somebody", {
    LOCKED(MPI_Get(r, 500, D, MPI_PROC_NULL, 20, 500, D, win); MPI_Get(r, 500, D, peer, 20, 500, D, win));
    FENCED();
  });
  WINDOW_SAME("Rget of nobody", LOCKED(WAIT(MPI_Rget(r, 500, D, MPI_PROC_NULL, 20, 500, D, win, &q))));
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
  WINDOW_SAME("Rget, flushed before its request", LOCKED({
                MPI_Request q;
                MPI_Rget(r, 500, D, peer, 20, 500, D, win, &q);
                MPI_Win_flush(peer, win);
                MPI_Sendrecv(r, 500, D, rank, 1, s, 500, D, rank, 1, W, I);
                MPI_Wait(&q, I);
              }));
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

static long resident_kb(void) {
  long pages = 0, ignored = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &ignored, &pages) != 2) ++failures;
  if (file != NULL) fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Operations that are complete with their requests give their pinned memory back, in an epoch that does not end. */
static void long_epoch(void) {
  double* w;
  MPI_Win win;
  long before = 0;
  MPI_Win_allocate(8 * N, 8, MPI_INFO_NULL, W, &w, &win);
  MPI_Win_lock_all(0, win);
  for (int turn = 0; turn < 1500; ++turn) {
    if (turn == 100) before = resident_kb();
    WAIT(MPI_Rget(device_memory[1], N, D, peer, 0, N, D, win, &q));
    WAIT(MPI_Rput(device_memory[0], 10, D, peer, 0, 10, D, win, &q));
  }
  if (resident_kb() - before > 30 * 1024) {
    fprintf(stderr, "rank %d: %ld KiB more after 1400 Rget of %zu B\n", rank, resident_kb() - before, N * sizeof(double));
    ++failures;
  }
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(W, &rank);
  MPI_Comm_size(W, &ranks);
  peer = 1 - rank;
  make_pairs();
  files(argv[argc - 1]);
  windows();
  long_epoch();
  return end_of_pairs("all accesses the same");
}
