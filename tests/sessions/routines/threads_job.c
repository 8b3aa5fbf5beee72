/* MPI_THREAD_MULTIPLE: four threads of each of two ranks send 1000 messages each way, on communicators of their own. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#define NUM_THREADS 4
#define NUM_MESSAGES 1000

static int rank;

static void* talk(void* argument) {
  MPI_Comm comm = *(MPI_Comm*)argument;
  static __thread int sent, received;
  for (int i = 0; i < NUM_MESSAGES; ++i) {
    sent = i;
    MPI_Sendrecv(&sent, 1, MPI_INT, 1 - rank, 0, &received, 1, MPI_INT, 1 - rank, 0, comm, MPI_STATUS_IGNORE);
    if (received != i) {
      fprintf(stderr, "rank %d received %d instead of %d\n", rank, received, i);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  MPI_Comm comms[NUM_THREADS];
  pthread_t threads[NUM_THREADS];
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    printf("SKIPPED: this MPI has no MPI_THREAD_MULTIPLE\n");
    MPI_Finalize();
    return 77;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < NUM_THREADS; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < NUM_THREADS; ++i) pthread_create(&threads[i], NULL, &talk, &comms[i]);
    for (int i = 0; i < NUM_THREADS; ++i) pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < NUM_THREADS; ++i) MPI_Comm_free(&comms[i]);
  if (rank == 0) printf("all received\n");
  MPI_Finalize();
  return 0;
}
