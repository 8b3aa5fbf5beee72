/* A rank with a child that ends by exit(), of which the library must say nothing; then all meet. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const pid_t child = fork();
  if (child == 0) exit(0);
  int status = 1;
  waitpid(child, &status, 0);
  int rank = 0, sum = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  printf("sum %d, child %d\n", sum, status);
  MPI_Finalize();
  return 0;
}
