/* Device memory given to an MPI that must not touch it. Usage: stage_job all | refused | partly. 2 ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sessions/driver/fake_cuda.h"

#define LARGE 40000

static int rank, peer, failures;
static MPI_Comm comm;

static double* device_doubles(int count) {
  device_pointer made;
  cuMemAlloc_v2(&made, (size_t)count * sizeof(double));
  return (double*)made;
}

static void fill(double* device, int count, double first) {
  double* values = malloc((size_t)count * sizeof(double));
  for (int i = 0; i < count; ++i) values[i] = first + i;
  cuMemcpyHtoD_v2((device_pointer)device, values, (size_t)count * sizeof(double));
  free(values);
}

/* value(i) = first + step * i from `from` on, `count` of them. */
static void expect(const char* what, const double* device, int from, int count, double first, double step) {
  double* values = malloc((size_t)(from + count) * sizeof(double));
  cuMemcpyDtoH_v2(values, (device_pointer)device, (size_t)(from + count) * sizeof(double));
  for (int i = 0; i < count; ++i) {
    if (values[from + i] == first + step * i) continue;
    fprintf(stderr, "rank %d, %s: element %d is %g instead of %g\n", rank, what, from + i, values[from + i],
            first + step * i);
    ++failures;
    break;
  }
  free(values);
}

static void blocking(double* a, double* b) {
  MPI_Status status;
  int count = 0;
  fill(a, LARGE, 1000 * rank);
  fill(b, LARGE, -1);
  if (rank == 0) {
    MPI_Send(a, LARGE, MPI_DOUBLE, 1, 1, comm);
    MPI_Ssend(a, 3, MPI_DOUBLE, 1, 2, comm);
    MPI_Send(a + 5, 1, MPI_DOUBLE, 1, 3, comm);
  } else {
    MPI_Recv(b, LARGE, MPI_DOUBLE, 0, 1, comm, MPI_STATUS_IGNORE);
    expect("Recv", b, 0, LARGE, 0, 1);
    fill(b, LARGE, 7);
    MPI_Recv(b, LARGE, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status); /* shorter than its buffer */
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    if (count != 3 || status.MPI_TAG != 2) ++failures;
    expect("short Recv", b, 0, 3, 0, 1);
    expect("behind it", b, 3, 100, 10, 1);
    MPI_Recv(b + 9, 1, MPI_DOUBLE, 0, 3, comm, MPI_STATUS_IGNORE);
    expect("within", b, 9, 1, 5, 1);
  }
  MPI_Sendrecv(a, 100, MPI_DOUBLE, peer, 4, b, 100, MPI_DOUBLE, peer, 4, comm, MPI_STATUS_IGNORE);
  expect("Sendrecv", b, 0, 100, 1000 * peer, 1);
  fill(b, 10, rank);
  MPI_Sendrecv_replace(b, 10, MPI_DOUBLE, peer, 5, peer, 5, comm, MPI_STATUS_IGNORE);
  expect("Sendrecv_replace", b, 0, 10, peer, 1);
}

/* Several messages with the same tag, some from the host between them: they must not overtake each other. */
static void nonblocking(double* a, double* b) {
  MPI_Request requests[8];
  MPI_Status statuses[8];
  double host = 50 + rank, from_host = 0;
  int index = 0, flag = 0, done = 0, indices[8];
  fill(a, LARGE, 100 * (rank + 1));
  fill(b, LARGE, -1);
  for (int i = 0; i < 3; ++i) MPI_Irecv(b + 10 * i, 10, MPI_DOUBLE, peer, 6, comm, &requests[i]);
  MPI_Irecv(&from_host, 1, MPI_DOUBLE, peer, 6, comm, &requests[3]);
  for (int i = 0; i < 3; ++i) MPI_Isend(a + 10 * i, 10, MPI_DOUBLE, peer, 6, comm, &requests[4 + i]);
  MPI_Isend(&host, 1, MPI_DOUBLE, peer, 6, comm, &requests[7]);
  MPI_Waitall(8, requests, statuses);
  expect("Isend and Irecv", b, 0, 30, 100 * (peer + 1), 1);
  if (from_host != 50 + peer) ++failures;
  for (int i = 0; i < 8; ++i) failures += requests[i] != MPI_REQUEST_NULL;

  MPI_Irecv(b, LARGE, MPI_DOUBLE, peer, 7, comm, &requests[0]);
  MPI_Issend(a, LARGE, MPI_DOUBLE, peer, 7, comm, &requests[1]);
  MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
  MPI_Wait(&requests[1 - index], MPI_STATUS_IGNORE);
  expect("Issend", b, 0, LARGE, 100 * (peer + 1), 1);

  MPI_Irecv(b, 5, MPI_DOUBLE, peer, 8, comm, &requests[0]);
  MPI_Isend(a + 20, 5, MPI_DOUBLE, peer, 8, comm, &requests[1]);
  while (!flag) MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
  expect("Testall", b, 0, 5, 100 * (peer + 1) + 20, 1);

  MPI_Irecv(b, 6, MPI_DOUBLE, peer, 9, comm, &requests[0]);
  MPI_Isend(a + 30, 6, MPI_DOUBLE, peer, 9, comm, &requests[1]);
  for (int total = 0; total < 2; total += done) MPI_Waitsome(2, requests, &done, indices, MPI_STATUSES_IGNORE);
  expect("Waitsome", b, 0, 6, 100 * (peer + 1) + 30, 1);
}

static void persistent(double* a, double* b) {
  MPI_Request requests[2];
  MPI_Recv_init(b, 100, MPI_DOUBLE, peer, 10, comm, &requests[0]);
  MPI_Send_init(a, 100, MPI_DOUBLE, peer, 10, comm, &requests[1]);
  for (int round = 0; round < 3; ++round) {
    fill(a, 100, 1000 * round + rank);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect("persistent", b, 0, 100, 1000 * round + peer, 1);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

/* A column of a matrix: its gaps keep what they had. */
static void types(double* a, double* b) {
  MPI_Datatype column;
  MPI_Type_vector(10, 1, 3, MPI_DOUBLE, &column);
  MPI_Type_commit(&column);
  fill(a, 30, 100 * rank);
  fill(b, 30, 5000);
  MPI_Sendrecv(a, 1, column, peer, 11, b, 1, column, peer, 11, comm, MPI_STATUS_IGNORE);
  for (int i = 0; i < 10; ++i) expect("column", b, 3 * i, 1, 100 * peer + 3 * i, 1);
  for (int i = 0; i < 9; ++i) expect("gap", b, 3 * i + 1, 2, 5000 + 3 * i + 1, 1);
  MPI_Type_free(&column);
}

static void collectives(double* a, double* b) {
  const int counts[] = {3, 4}, starts[] = {0, 5};
  double host[8];
  fill(a, LARGE, rank == 0 ? 1 : 77);
  MPI_Bcast(a, LARGE, MPI_DOUBLE, 0, comm);
  expect("Bcast", a, 0, LARGE, 1, 1);
  MPI_Allreduce(a, b, LARGE, MPI_DOUBLE, MPI_SUM, comm);
  expect("Allreduce", b, 0, LARGE, 2, 2);
  MPI_Allreduce(MPI_IN_PLACE, b, 10, MPI_DOUBLE, MPI_SUM, comm);
  expect("Allreduce in place", b, 0, 10, 4, 4);
  fill(b, 20, -5);
  MPI_Reduce(a, b, 10, MPI_DOUBLE, MPI_SUM, 1, comm);
  expect("Reduce", b, 0, 10, rank == 1 ? 2 : -5, rank == 1 ? 2 : 1);
  fill(a, 20, 10 * rank);
  MPI_Gather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, comm);
  if (rank == 0) expect("Gather", b, 2, 2, 10, 1);
  MPI_Allgather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, comm);
  expect("Allgather", b, 2, 2, 10, 1);
  fill(b, 20, 300);
  MPI_Gatherv(a, counts[rank], MPI_DOUBLE, b, counts, starts, MPI_DOUBLE, 0, comm);
  if (rank == 0) expect("Gatherv", b, 5, 4, 10, 1);
  if (rank == 0) expect("gap of Gatherv", b, 3, 2, 303, 1);
  MPI_Allgatherv(a, counts[rank], MPI_DOUBLE, b, counts, starts, MPI_DOUBLE, comm);
  expect("Allgatherv", b, 5, 4, 10, 1);
  MPI_Scatter(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 1, comm);
  expect("Scatter", b, 0, 2, 10 + 2 * rank, 1);
  MPI_Scatterv(a, counts, starts, MPI_DOUBLE, b, counts[rank], MPI_DOUBLE, 1, comm);
  expect("Scatterv", b, 0, counts[rank], 10 + starts[rank], 1);
  MPI_Alltoall(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, comm);
  expect("Alltoall", b, 2, 2, 10 + 2 * rank, 1);
  MPI_Alltoallv(a, counts, starts, MPI_DOUBLE, b, (int[]){counts[rank], counts[rank]}, (int[]){0, 6}, MPI_DOUBLE, comm);
  expect("Alltoallv", b, 6, counts[rank], 10 + starts[rank], 1);
  MPI_Reduce_scatter_block(a, b, 2, MPI_DOUBLE, MPI_SUM, comm);
  expect("Reduce_scatter_block", b, 0, 2, 10 + 4 * rank, 2);
  MPI_Gather(a, 2, MPI_DOUBLE, host, 2, MPI_DOUBLE, 0, comm); /* to the host */
  if (rank == 0 && host[2] != 10) ++failures;
}

/* Buffers of different devices in one call, in a thread whose current context is another one, or that has none. */
static void several_devices(void) {
  void *first, *second, *made, *popped;
  MPI_Request requests[3];
  int num_devices = 0;
  cuDeviceGetCount(&num_devices);
  if (num_devices < 2) return;
  cuCtxPopCurrent_v2(&first);
  cuDevicePrimaryCtxRetain(&second, 1);
  cuCtxPushCurrent_v2(second);
  double* there = device_doubles(LARGE);
  cuCtxPopCurrent_v2(&popped);
  cuCtxPushCurrent_v2(first);
  double* here = device_doubles(LARGE);
  fill(there, LARGE, 10 * rank);
  fill(here, LARGE, -9);
  MPI_Sendrecv(there, LARGE, MPI_DOUBLE, peer, 20, here, LARGE, MPI_DOUBLE, peer, 20, comm, MPI_STATUS_IGNORE);
  expect("from one device to another", here, 0, LARGE, 10 * peer, 1);
  cuCtxPopCurrent_v2(&popped);
  MPI_Allreduce(there, here, LARGE, MPI_DOUBLE, MPI_SUM, comm);
  cuCtxPushCurrent_v2(first);
  expect("without a current context", here, 0, LARGE, 10, 2);

  /* A context that goes, with all memory and streams in it, and another that comes, perhaps at the same address. */
  for (int turn = 0; turn < 3; ++turn) {
    cuCtxCreate_v2(&made, 0, 0);
    double* a = device_doubles(LARGE);
    double* b = device_doubles(LARGE);
    fill(a, LARGE, 7 * rank + turn);
    cuCtxPopCurrent_v2(&popped);
    MPI_Irecv(b, LARGE, MPI_DOUBLE, peer, 21, comm, &requests[0]);
    MPI_Isend(a, LARGE, MPI_DOUBLE, peer, 21, comm, &requests[1]);
    MPI_Isend(there, 3, MPI_DOUBLE, rank, 22, comm, &requests[2]);
    MPI_Recv(here, 3, MPI_DOUBLE, rank, 22, comm, MPI_STATUS_IGNORE);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    expect("in a context of its own", b, 0, LARGE, 7 * peer + turn, 1);
    expect("beside it", here, 0, 3, 10 * rank, 1);
    cuMemFree_v2((device_pointer)a);
    cuMemFree_v2((device_pointer)b);
    cuCtxDestroy_v2(made);
    cuCtxGetCurrent(&popped);
    failures += popped != first;
  }
  cuMemFree_v2((device_pointer)there);
  cuMemFree_v2((device_pointer)here);
}

static void refused(double* a) {
  MPI_Win win;
  MPI_Win_create(a, 80, 8, MPI_INFO_NULL, comm, &win);
}

/* A type with absolute addresses in both memories. */
static void partly(double* a) {
  static double b[4];
  MPI_Aint addresses[2];
  MPI_Datatype type;
  MPI_Get_address(a, &addresses[0]);
  MPI_Get_address(b, &addresses[1]);
  MPI_Type_create_hindexed_block(2, 1, addresses, MPI_DOUBLE, &type);
  MPI_Type_commit(&type);
  MPI_Send(MPI_BOTTOM, 1, type, peer, 1, comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  comm = MPI_COMM_WORLD;
  MPI_Comm_rank(comm, &rank);
  peer = 1 - rank;
  use_device(0);
  double* a = device_doubles(LARGE);
  double* b = device_doubles(LARGE);
  if (argc == 2 && strcmp(argv[1], "refused") == 0) refused(a);
  if (argc == 2 && strcmp(argv[1], "partly") == 0) partly(a);
  for (int round = 0; round < 3; ++round) {
    blocking(a, b);
    nonblocking(a, b);
    persistent(a, b);
    types(a, b);
    collectives(a, b);
    if (round == 0 && fake_cuda_waits_for_default_stream() > 0) { /* memory that was seen when it was made needs none */
      fprintf(stderr, "rank %d: %lu waits for a default stream\n", rank, fake_cuda_waits_for_default_stream());
      ++failures;
    }
    several_devices();
  }
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, comm);
  if (rank == 0) printf("%s\n", failures == 0 ? "all staged" : "failed");
  MPI_Finalize();
  return failures != 0;
}
