/* An MPI that delivers a wrong byte, to show that programs notice: preloaded, it changes one bit of what the calls of
   CORRUPT_ROUTINE number CORRUPT_FIRST (from 1) and later received. MPI_Wait and MPI_Waitall complete MPI_Irecv; there it
   is the buffer that was given last. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static unsigned char* last_buffer;
static long num_calls;

static int type_size(MPI_Datatype type) {
  int size = 0;
  MPI_Type_size(type, &size);
  return size;
}

/* The bit lies in the exponent of a double, in the upper half of a float, in a high byte of a whole number. */
static void corrupt(const char* routine, void* buffer, long bytes) {
  const char* chosen = getenv("CORRUPT_ROUTINE");
  const char* first = getenv("CORRUPT_FIRST");
  if (chosen == NULL || first == NULL || strcmp(chosen, routine) != 0 || buffer == NULL || bytes == 0) return;
  if (++num_calls >= atol(first)) ((unsigned char*)buffer)[bytes > 6 ? 6 : bytes - 1] ^= 0x20;
}

int MPI_Irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  if (count > 0) last_buffer = buf;
  return PMPI_Irecv(buf, count, type, source, tag, comm, request);
}

int MPI_Waitall(int count, MPI_Request requests[], MPI_Status statuses[]) {
  const int result = PMPI_Waitall(count, requests, statuses);
  corrupt("MPI_Waitall", last_buffer, 8);
  return result;
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const int result = PMPI_Wait(request, status);
  corrupt("MPI_Wait", last_buffer, 8);
  return result;
}

int MPI_Recv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const int result = PMPI_Recv(buf, count, type, source, tag, comm, status);
  corrupt("MPI_Recv", buf, (long)count * type_size(type));
  return result;
}

int MPI_Bcast(void* buf, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int result = PMPI_Bcast(buf, count, type, root, comm);
  corrupt("MPI_Bcast", buf, (long)count * type_size(type));
  return result;
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  const int result = PMPI_Allreduce(send, receive, count, type, op, comm);
  corrupt("MPI_Allreduce", receive, (long)count * type_size(type));
  return result;
}

int MPI_Alltoall(const void* send, int sendcount, MPI_Datatype sendtype, void* receive, int count, MPI_Datatype type,
                 MPI_Comm comm) {
  const int result = PMPI_Alltoall(send, sendcount, sendtype, receive, count, type, comm);
  corrupt("MPI_Alltoall", receive, (long)count * type_size(type));
  return result;
}
