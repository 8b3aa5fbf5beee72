/* Persistent collectives, by the names that this MPI has for them, and messages in partitions where it has those; each is
   started twice. 2 ranks. */
#include <mpi.h>
#include <stdio.h>
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5) /* which calls itself MPI 3.1 */
#define HAS_MPI_4 1
#define PERSISTENT(name) MPI_##name
#else
#include <mpi-ext.h>
#define PERSISTENT(name) MPIX_##name
#endif

#include "sessions/driver/fake_cuda.h"
#include <imbrex/sessions.h>

static int rank, wrong;

static void expect(int holds, const char* what) {
  if (!holds) printf("rank %d: %s\n", rank, what), ++wrong;
}

static void collectives(void) {
  int own, sum, word;
  MPI_Request requests[3];
  PERSISTENT(Allreduce_init)(&own, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  PERSISTENT(Bcast_init)(&word, 1, MPI_INT, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  PERSISTENT(Barrier_init)(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
  for (int turn = 0; turn < 2; ++turn) {
    own = rank + turn;
    word = rank == 1 ? 70 + turn : 0;
    MPI_Startall(3, requests);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    expect(sum == 1 + 2 * turn, "the sum");
    expect(word == 70 + turn, "the word");
  }
  for (int i = 0; i < 3; ++i) MPI_Request_free(&requests[i]);
}

#ifdef HAS_MPI_4
enum { parts = 6, in_part = 8, all = parts * in_part };

static void partitions(void) {
  int data[all];
  MPI_Request request;
  if (rank == 0) {
    int last[] = {5, 3}; /* MPICH 4.0 wants it so */
    MPI_Psend_init(data, parts, in_part, MPI_INT, 1, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int turn = 0; turn < 2; ++turn) {
      for (int i = 0; i < all; ++i) data[i] = 100 * turn + i;
      MPI_Start(&request);
      MPI_Pready(4, request);
      MPI_Pready_range(0, 2, request);
      MPI_Pready_list(2, last, request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  } else {
    MPI_Precv_init(data, parts, in_part, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int turn = 0; turn < 2; ++turn) {
      for (int i = 0; i < all; ++i) data[i] = -1;
      MPI_Start(&request);
      for (int p = 0; p < parts; ++p) {
        int here = 0;
        while (!here) MPI_Parrived(request, p, &here);
        for (int i = p * in_part; i < (p + 1) * in_part; ++i) expect(data[i] == 100 * turn + i, "a partition that arrived");
      }
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  MPI_Request_free(&request);
}
#endif

/* Handles are numbers in MPICH, and pointers in Open MPI. */
#ifdef OPEN_MPI
#define declared(handle) imbrex_sessions_api_declared((uintptr_t)(handle))
#else
#define declared(handle) imbrex_sessions_api_declared((uintptr_t)(unsigned)(handle))
#endif

/* Windows and files are told where their buffers lie when they are made, and later. */
static void windows(const char* path) {
  char memory[64], local = 0;
  MPI_Info hosts;
  MPI_Win win;
  MPI_File file;
  MPI_Info_create(&hosts);
  MPI_Info_set(hosts, "mpi_assert_memory_alloc_kinds", "system");
  MPI_Win_create(memory, 64, 1, hosts, MPI_COMM_WORLD, &win);
  MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  if (imbrex_sessions_api_declared) {
    expect(declared(win)[0] == 'M', "the window is not declared");
    expect(imbrex_sessions_api_declared((uintptr_t)file)[0] == 0, "the file is declared");
    MPI_File_set_info(file, hosts);
    expect(imbrex_sessions_api_declared((uintptr_t)file)[0] == 'M', "the file is not declared");
  }
  MPI_Win_fence(0, win);
  MPI_Put(&local, 1, MPI_BYTE, 1 - rank, 0, 1, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  MPI_File_close(&file);
  MPI_Info_free(&hosts);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cuInit(0);
  collectives();
#ifdef HAS_MPI_4
  partitions();
#endif
  windows(argv[1]);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
