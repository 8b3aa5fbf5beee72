/* A tool by MPI's profiling interface that looks at two routines only. */
#include <mpi.h>
#include <stdio.h>

static int num_sends;

int MPI_Send(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  ++num_sends;
  return PMPI_Send(buf, count, type, dest, tag, comm);
}

int MPI_Finalize(void) {
  printf("the tool saw %d messages\n", num_sends);
  fflush(stdout);
  return PMPI_Finalize();
}
