/* Calls routines of every family with known sizes; prints what it computed, exits with 3. The counts are in
   sessions_test.py. Needs 2 ranks. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static void point_to_point(double* a, double* b) {
  const int peer = 1 - rank;
  MPI_Request requests[2];
  if (rank == 0) {
    MPI_Send(a, 4, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD);
    MPI_Ssend(a, 1, MPI_DOUBLE, peer, 2, MPI_COMM_WORLD);
  } else {
    MPI_Recv(b, 8, MPI_DOUBLE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(b, 1, MPI_DOUBLE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Irecv(b, 4, MPI_DOUBLE, peer, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(a, 4, MPI_DOUBLE, peer, 3, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Sendrecv(a, 2, MPI_DOUBLE, peer, 4, b, 2, MPI_DOUBLE, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Recv_init(b, 4, MPI_DOUBLE, peer, 5, MPI_COMM_WORLD, &requests[0]);
  MPI_Send_init(a, 4, MPI_DOUBLE, peer, 5, MPI_COMM_WORLD, &requests[1]);
  for (int i = 0; i < 3; ++i) {
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

static void collectives(double* a, double* b) {
  const int counts[] = {1, 2};
  const int starts[] = {0, 1};
  MPI_Request request;
  MPI_Bcast(a, 4, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Gatherv(a, counts[rank], MPI_DOUBLE, b, counts, starts, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 2, MPI_DOUBLE, MPI_COMM_WORLD);
  MPI_Alltoallv(a, counts, starts, MPI_DOUBLE, b, (int[]){counts[rank], counts[rank]}, (int[]){0, 2}, MPI_DOUBLE,
                MPI_COMM_WORLD);
  MPI_Allreduce(a, b, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Iallreduce(MPI_IN_PLACE, b, 4, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Reduce(a, b, 2, MPI_DOUBLE, MPI_MAX, 1, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void neighbours(double* a, double* b) {
  const int dims[] = {2};
  const int periods[] = {1};
  MPI_Comm ring;
  MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
  MPI_Neighbor_alltoall(a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, ring);
  MPI_Comm_free(&ring);
}

static void one_sided(double* a, double* b) {
  MPI_Win win;
  double shared[4] = {0};
  MPI_Win_create(shared, sizeof shared, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_fence(0, win);
  MPI_Put(a, 2, MPI_DOUBLE, 1 - rank, 0, 2, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  MPI_Get(b, 2, MPI_DOUBLE, 1 - rank, 0, 2, MPI_DOUBLE, win);
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
}

static void file_io(const char* name, double* a, double* b) {
  MPI_File file;
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_File_write_at_all(file, rank * 32, a, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_read_at(file, rank * 32, b, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

int main(int argc, char** argv) {
  double a[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  double b[8] = {0};
  double sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2 || argc != 2) {
    fprintf(stderr, "usage: mpirun -n 2 routines_job FILE\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int i = 0; i < 8; ++i) a[i] += rank;
  point_to_point(a, b);
  for (int i = 0; i < 8; ++i) sum += b[i] * (i + 1);
  collectives(a, b);
  for (int i = 0; i < 8; ++i) sum += b[i] * (i + 1);
  neighbours(a, b);
  one_sided(a, b);
  for (int i = 0; i < 8; ++i) sum += b[i] * (i + 1);
  file_io(argv[1], a, b);
  for (int i = 0; i < 8; ++i) sum += b[i] * (i + 1);
  printf("rank %d: %.17g\n", rank, sum);
  MPI_Finalize();
  return 3;
}
