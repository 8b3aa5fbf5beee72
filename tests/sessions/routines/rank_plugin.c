/* Loaded by late_main: the first that the process sees of an MPI. */
#include <mpi.h>
#include <stdio.h>

int run_plugin(void);

int run_plugin(void) {
  int rank, one = 1, sum = 0;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("ranks %d\n", sum);
  MPI_Finalize();
  return 3;
}
