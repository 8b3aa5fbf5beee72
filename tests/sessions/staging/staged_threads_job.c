/* MPI_THREAD_MULTIPLE with device memory: several threads of each of two ranks exchange messages, and read windows, all
   of them device buffers of their own. MPIs give out the handles of completed requests again at once, to any thread. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "sessions/driver/fake_cuda.h"

#define NUM_THREADS 4
#define NUM_TURNS 1500
#define COUNT 300
#define NUM_PAIRS 3

static int rank, peer;

struct talker {
  int number;
  MPI_Comm comm;
  MPI_Win win;
  int failures;
};

static long* device_longs(int count) {
  device_pointer made;
  cuMemAlloc_v2(&made, (size_t)count * sizeof(long));
  return (long*)made;
}

static void fill(long* device, int count, long first) {
  long values[COUNT];
  for (int i = 0; i < count; ++i) values[i] = first + i;
  cuMemcpyHtoD_v2((device_pointer)device, values, (size_t)count * sizeof(long));
}

static void expect(struct talker* t, const char* what, int turn, const long* device, int count, long first) {
  long values[COUNT];
  cuMemcpyDtoH_v2(values, (device_pointer)device, (size_t)count * sizeof(long));
  for (int i = 0; i < count; ++i) {
    if (values[i] == first + i) continue;
    if (t->failures++ == 0)
      fprintf(stderr, "rank %d, thread %d, turn %d, %s: element %d is %ld, not %ld\n", rank, t->number, turn, what, i,
              values[i], first + i);
    return;
  }
}

static void complete(int turn, MPI_Request* requests) {
  int index = 0, flag = 0, num_done = 0, indices[2 * NUM_PAIRS];
  switch (turn % 5) {
    case 0:
      for (int i = 0; i < 2 * NUM_PAIRS; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      break;
    case 1: MPI_Waitall(2 * NUM_PAIRS, requests, MPI_STATUSES_IGNORE); break;
    case 2:
      while (index != MPI_UNDEFINED) MPI_Waitany(2 * NUM_PAIRS, requests, &index, MPI_STATUS_IGNORE);
      break;
    case 3:
      while (num_done != MPI_UNDEFINED)
        MPI_Testsome(2 * NUM_PAIRS, requests, &num_done, indices, MPI_STATUSES_IGNORE);
      break;
    default:
      for (int i = 2 * NUM_PAIRS - 1; i >= 0; --i) {
        for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      }
  }
}

static void* exchange(void* argument) {
  struct talker* t = argument;
  MPI_Request requests[2 * NUM_PAIRS];
  long *sent[NUM_PAIRS], *received[NUM_PAIRS];
  use_device(0);
  for (int i = 0; i < NUM_PAIRS; ++i) sent[i] = device_longs(COUNT);
  for (int i = 0; i < NUM_PAIRS; ++i) received[i] = device_longs(COUNT);
  for (int turn = 0; turn < NUM_TURNS; ++turn) {
    const long own = 1000000L * t->number + 1000L * turn, distance = 100000000L;
    for (int i = 0; i < NUM_PAIRS; ++i) {
      MPI_Irecv(received[i], COUNT, MPI_LONG, peer, i, t->comm, &requests[i]);
      fill(sent[i], COUNT, distance * (rank + 1) + own + i);
    }
    for (int i = 0; i < NUM_PAIRS; ++i) {
      MPI_Isend(sent[i], COUNT, MPI_LONG, peer, i, t->comm, &requests[NUM_PAIRS + i]);
    }
    complete(turn + t->number, requests);
    for (int i = 0; i < NUM_PAIRS; ++i)
      expect(t, "exchange", turn, received[i], COUNT, distance * (peer + 1) + own + i);
  }
  return NULL;
}

/* Threads share the epoch: one flushes what another one reads, who must find it there when its own flush is done. */
static void* read_window(void* argument) {
  struct talker* t = argument;
  MPI_Request request;
  use_device(0);
  long* received = device_longs(COUNT);
  for (int turn = 0; turn < NUM_TURNS; ++turn) {
    const int from = (7 * turn + t->number) % COUNT;
    fill(received, COUNT, -1000);
    if (turn % 3 == 2) {
      MPI_Rget(received, COUNT, MPI_LONG, peer, from, COUNT, MPI_LONG, t->win, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Get(received, COUNT, MPI_LONG, peer, from, COUNT, MPI_LONG, t->win);
      if (turn % 3 == 0) MPI_Win_flush(peer, t->win);
      if (turn % 3 == 1) MPI_Win_flush_all(t->win);
    }
    expect(t, "window", turn, received, COUNT, 10000L * peer + from);
  }
  return NULL;
}

static void in_threads(struct talker* talkers, void* (*work)(void*)) {
  pthread_t threads[NUM_THREADS];
  for (int i = 0; i < NUM_THREADS; ++i) pthread_create(&threads[i], NULL, work, &talkers[i]);
  for (int i = 0; i < NUM_THREADS; ++i) pthread_join(threads[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int provided, failures = 0;
  struct talker talkers[NUM_THREADS];
  MPI_Win win;
  long* shown;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    printf("SKIPPED: this MPI has no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 77;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  peer = 1 - rank;
  MPI_Win_allocate(2 * COUNT * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &shown, &win);
  MPI_Win_lock_all(0, win);
  for (int i = 0; i < 2 * COUNT; ++i) shown[i] = 10000L * rank + i;
  MPI_Win_sync(win);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < NUM_THREADS; ++i) {
    talkers[i] = (struct talker){i, MPI_COMM_NULL, win, 0};
    MPI_Comm_dup(MPI_COMM_WORLD, &talkers[i].comm);
  }
  in_threads(talkers, &exchange);
  in_threads(talkers, &read_window);
  for (int i = 0; i < NUM_THREADS; ++i) failures += talkers[i].failures;
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
  for (int i = 0; i < NUM_THREADS; ++i) MPI_Comm_free(&talkers[i].comm);
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", failures == 0 ? "all threads right" : "failed");
  MPI_Finalize();
  return failures != 0;
}
