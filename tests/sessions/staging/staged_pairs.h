/* The same calls with buffers on the host and on the device must leave the same bytes. For C jobs of one file.

     SAME(comm, "Scan", MPI_Scan(s, r, N, MPI_DOUBLE, MPI_SUM, comm));

   runs the statements four times: both buffers on the host, `s`, `r` and both on the device. Each time they hold the
   same N doubles, which depend on the rank; in the end all of both is compared with what the host's had. */
#pragma once

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/driver/fake_cuda.h"

#define N 12000

static int failures, rank, ranks;
static double *host_memory[2], *device_memory[2], reference[2][N], found[N];

static inline void make_pairs(void) {
  use_device(0);
  for (int i = 0; i < 2; ++i) {
    device_pointer made;
    host_memory[i] = malloc(N * sizeof(double));
    cuMemAlloc_v2(&made, N * sizeof(double));
    device_memory[i] = (double*)made;
  }
}

static inline double* filled(int which, int on_device) {
  for (int i = 0; i < N; ++i) found[i] = which == 0 ? (i * 7 + rank * 13) % 1001 : -1.0 - i - 20000.0 * rank;
  if (!on_device) return memcpy(host_memory[which], found, sizeof found);
  cuMemcpyHtoD_v2((device_pointer)device_memory[which], found, sizeof found);
  return device_memory[which];
}

static inline void check_same(const char* what, int which, int places, const double* buffer) {
  if ((places >> which & 1) != 0) {
    cuMemcpyDtoH_v2(found, (device_pointer)buffer, sizeof found);
  } else {
    memcpy(found, buffer, sizeof found);
  }
  if (places == 0) memcpy(reference[which], found, sizeof found);
  for (int i = 0; i < N; ++i) {
    if (memcmp(&found[i], &reference[which][i], sizeof(double)) == 0) continue;
    fprintf(stderr, "rank %d of %d, %s: with places %d, buffer %d has %g at %d, not %g\n", rank, ranks, what, places,
            which, found[i], i, reference[which][i]);
    ++failures;
    return;
  }
}

#define SAME(comm_, what, ...)                 \
  for (int places = 0; places < 4; ++places) { \
    double* s = filled(0, places & 1);         \
    double* r = filled(1, places & 2);         \
    MPI_Barrier(comm_);                        \
    __VA_ARGS__;                               \
    check_same(what, 0, places, s);            \
    check_same(what, 1, places, r);            \
  }

static int end_of_pairs(const char* word) {
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", failures == 0 ? word : "failed");
  MPI_Finalize();
  return failures != 0;
}
