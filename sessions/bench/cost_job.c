/* What an 8 B message costs. Prints the median over batches, in ns.
     mpirun -n 2 cost_job pingpong   one way between two ranks: one MPI_Send and one MPI_Recv
     mpirun -n 1 cost_job calls      one MPI_Send and one MPI_Recv to and from MPI_PROC_NULL: the calls alone, on one core
   sessions/bench/cost.py runs it with and without libimbrex_sessions.so. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUM_BATCHES 201

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double pingpong_ns(int rank, int rounds) {
  double value = 0;
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    if (rank == 0) {
      MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - begin) * 1e9 / (2.0 * rounds);
}

static double calls_ns(int rounds) {
  double value = 0;
  const double begin = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    MPI_Send(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return (MPI_Wtime() - begin) * 1e9 / rounds;
}

int main(int argc, char** argv) {
  static double batches[NUM_BATCHES];
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int pingpong = argc == 2 && strcmp(argv[1], "pingpong") == 0 && size == 2;
  if (!pingpong && !(argc == 2 && strcmp(argv[1], "calls") == 0 && size == 1)) {
    fprintf(stderr, "usage: mpirun -n 2 cost_job pingpong | mpirun -n 1 cost_job calls\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = 0; i < NUM_BATCHES; ++i) batches[i] = pingpong ? pingpong_ns(rank, 500) : calls_ns(10000);
  qsort(batches, NUM_BATCHES, sizeof batches[0], &by_size);
  if (rank == 0) printf("median_ns %.3f\n", batches[NUM_BATCHES / 2]);
  MPI_Finalize();
  return 0;
}
