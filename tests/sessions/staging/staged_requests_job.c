/* Requests with device memory that fail, that nobody asks about, or that go on while the program is elsewhere. Usage:
   staged_requests_job FILE, whose name the ranks talk by. 2 ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sessions/driver/fake_cuda.h"

#define W MPI_COMM_WORLD
#define D MPI_DOUBLE
#define I MPI_STATUS_IGNORE
#define COUNT 64

static int rank, peer, failures;
static double *a, *b;

static void fill(double* device, double value) {
  double values[COUNT];
  for (int i = 0; i < COUNT; ++i) values[i] = value;
  cuMemcpyHtoD_v2((device_pointer)device, values, sizeof values);
}

static void expect(const char* what, const double* device, int i, double value) {
  double values[COUNT];
  cuMemcpyDtoH_v2(values, (device_pointer)device, sizeof values);
  if (values[i] == value) return;
  fprintf(stderr, "rank %d, %s: element %d is %g, not %g\n", rank, what, i, values[i], value);
  ++failures;
}

static void check(int holds, const char* what) {
  if (!holds) fprintf(stderr, "rank %d: not so: %s\n", rank, what);
  failures += holds ? 0 : 1;
}

enum { wait_one, test_one, wait_any, test_any, wait_some, test_some, wait_all, test_all, num_ways };

/* Completes requests[1] one way; the others are null. */
static int complete(int way, MPI_Request requests[3]) {
  int index = 0, flag = 0, num_done = 0, indices[3], result = MPI_SUCCESS;
  MPI_Status statuses[3];
  switch (way) {
    case wait_one: return MPI_Wait(&requests[1], I);
    case wait_any: return MPI_Waitany(3, requests, &index, I);
    case wait_some: return MPI_Waitsome(3, requests, &num_done, indices, statuses);
    case wait_all: return MPI_Waitall(3, requests, statuses);
    case test_one:
      while (result == MPI_SUCCESS && !flag) result = MPI_Test(&requests[1], &flag, I);
      return result;
    case test_any:
      while (result == MPI_SUCCESS && !flag) result = MPI_Testany(3, requests, &index, &flag, I);
      return result;
    case test_some:
      while (result == MPI_SUCCESS && num_done == 0)
        result = MPI_Testsome(3, requests, &num_done, indices, statuses);
      return result;
    default:
      while (result == MPI_SUCCESS && !flag) result = MPI_Testall(3, requests, &flag, statuses);
      return result;
  }
}

/* A message that is too long for its receive. The handle of the receive, once it is gone, may come back for others:
   those are on the host, and leave the device as it is. */
static void failing(int way) {
  double sent[8] = {0}, received[40];
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL}, others[40];
  int code = MPI_ERR_OTHER;
  char what[40];
  snprintf(what, sizeof what, "after a failure, way %d", way);
  MPI_Irecv(b, 4, D, peer, 1, W, &requests[1]);
  MPI_Barrier(W);
  MPI_Send(sent, 8, D, peer, 1, W);
  code = complete(way, requests);
  check(code != MPI_SUCCESS, "a message that is too long is an error");
  if (requests[1] != MPI_REQUEST_NULL) MPI_Request_free(&requests[1]);
  fill(b, -7);
  for (int i = 0; i < 40; ++i) MPI_Irecv(&received[i], 1, D, peer, 2, W, &others[i]);
  MPI_Barrier(W);
  for (int i = 0; i < 40; ++i) MPI_Send(sent, 1, D, peer, 2, W);
  for (int i = 0; i < 40; ++i) MPI_Wait(&others[i], I);
  expect(what, b, 0, -7);
  MPI_Barrier(W);
}

/* A persistent receive that fails and is started again. MPIs may free it or not, and not in both ranks alike. */
static void failing_persistent(int way) {
  double sent[8] = {0};
  int code;
  char what[40];
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Recv_init(b, 4, D, MPI_ANY_SOURCE, 3, W, &requests[1]);
  MPI_Start(&requests[1]);
  MPI_Barrier(W);
  MPI_Send(sent, 8, D, peer, 3, W);
  code = complete(way, requests);
  snprintf(what, sizeof what, "a persistent receive that failed, way %d", way);
#if defined(OPEN_MPI) /* whose Testany, Testall and sometimes Testsome do not tell of it */
  if (way == test_any || way == test_all || way == test_some) code = MPI_ERR_TRUNCATE;
#endif
  check(code != MPI_SUCCESS, what);
  if (requests[1] != MPI_REQUEST_NULL) {
    fill(b, -8);
    complete(wait_one, requests); /* is not under way */
    expect(what, b, 0, -8);
    fill(a, 3 + rank);
    MPI_Start(&requests[1]);
    MPI_Send(a, 4, D, rank, 3, W);
    check(complete(wait_one, requests) == MPI_SUCCESS, "it can be started again");
    expect(what, b, 3, 3 + rank);
    MPI_Request_free(&requests[1]);
  }
  MPI_Barrier(W);
}

/* A send is begun when MPI_Isend returns: the sender calls the MPI no more until the receiver has it, and says so by a
   file. */
static void without_further_calls(const char* path) {
  MPI_Request request;
  fill(a, 11);
  if (rank == 0) {
    int seen = 0;
    MPI_Isend(a, COUNT, D, 1, 5, W, &request);
    for (int i = 0; i < 1000 && !seen; ++i) {
      usleep(10000);
      seen = access(path, F_OK) == 0;
    }
    check(seen, "a message of MPI_Isend arrives while its sender is elsewhere");
    MPI_Wait(&request, I);
  } else {
    fill(b, -1);
    MPI_Recv(b, COUNT, D, 0, 5, W, I);
    expect("arrived", b, COUNT - 1, 11);
    fclose(fopen(path, "w"));
  }
  MPI_Barrier(W);
  if (rank == 0) unlink(path);
}

#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
/* Requests that are not under way do not count. (Of persistent ones that are, MPI_Request_get_status_some of MPICH 5.0
   tells nothing.) */
static void inactive(void) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status status, statuses[3];
  int index = 0, flag = 0, num_done = 0, indices[3];
  MPI_Recv_init(b, COUNT, D, peer, 6, W, &requests[0]);
  MPI_Request_get_status_any(3, requests, &index, &flag, &status);
  check(index == MPI_UNDEFINED && flag, "Request_get_status_any with nothing under way");
  MPI_Request_get_status_some(3, requests, &num_done, indices, statuses);
  check(num_done == MPI_UNDEFINED, "Request_get_status_some with nothing under way");
  fill(a, 20 + rank);
  fill(b, -1);
  MPI_Irecv(b, COUNT, D, peer, 7, W, &requests[2]);
  MPI_Send(a, COUNT, D, peer, 7, W);
  for (flag = 0; !flag;) MPI_Request_get_status_any(3, requests, &index, &flag, I);
  check(index == 2, "Request_get_status_any finds the one that is under way");
  expect("Request_get_status_any", b, COUNT - 1, 20 + peer);
  MPI_Request_get_status_some(3, requests, &num_done, indices, MPI_STATUSES_IGNORE);
  check(num_done == 1 && indices[0] == 2, "Request_get_status_some finds the one that is under way");
  MPI_Wait(&requests[2], I);
  fill(b, -1);
  MPI_Irecv(b, COUNT, D, peer, 8, W, &requests[2]);
  MPI_Send(a, COUNT, D, peer, 8, W);
  for (num_done = 0; num_done != 1;) MPI_Request_get_status_some(3, requests, &num_done, indices, statuses);
  expect("Request_get_status_some", b, COUNT - 1, 20 + peer);
  MPI_Wait(&requests[2], I);
  MPI_Start(&requests[0]);
  MPI_Send(a, COUNT, D, peer, 6, W);
  for (flag = 0; !flag;) MPI_Request_get_status_any(3, requests, &index, &flag, I);
  check(index == 0, "Request_get_status_any finds a persistent one");
  MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
}
#else
static void inactive(void) {}
#endif

int main(int argc, char** argv) {
  device_pointer made[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(W, &rank);
  peer = 1 - rank;
  use_device(0);
  cuMemAlloc_v2(&made[0], COUNT * sizeof(double));
  cuMemAlloc_v2(&made[1], COUNT * sizeof(double));
  a = (double*)made[0];
  b = (double*)made[1];
  MPI_Comm_set_errhandler(W, MPI_ERRORS_RETURN);
  for (int way = 0; way < num_ways; ++way) failing(way);
  for (int way = 0; way < num_ways; ++way) failing_persistent(way);
  inactive();
  without_further_calls(argv[argc - 1]);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, W);
  if (rank == 0) printf("%s\n", failures == 0 ? "all requests right" : "failed");
  MPI_Finalize();
  return failures != 0;
}
