/* Buffers of several kinds of memory on several communicators; what a GPU-less MPI must not touch goes to nobody.
   2 ranks. */
#include <mpi.h>
#include <stdlib.h>

#include "sessions/driver/fake_cuda.h"

static void send_to_nobody(const void* buffer, int bytes, MPI_Comm comm) {
  MPI_Send(buffer, bytes, MPI_BYTE, MPI_PROC_NULL, 0, comm);
}
static void receive_from_nobody(void* buffer, int bytes, MPI_Comm comm) {
  MPI_Recv(buffer, bytes, MPI_BYTE, MPI_PROC_NULL, 0, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  static char host[64], other[64];
  device_pointer device, managed;
  void* pinned;
  MPI_Comm halo, mixed, output;
  MPI_Info info;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  use_device(0);
  cuMemAlloc_v2(&device, 4096);
  cuMemAllocManaged(&managed, 4096, 1);
  cuMemAllocHost_v2(&pinned, 4096);

  MPI_Comm_dup(MPI_COMM_WORLD, &halo);
  MPI_Comm_set_name(halo, "halo");
  for (int i = 0; i < 10; ++i) send_to_nobody((void*)device, 32, halo);
  receive_from_nobody((void*)(device + 100), 16, halo);
  MPI_Comm_free(&halo);

  /* It may get the handle of the last one. */
  MPI_Comm_dup(MPI_COMM_WORLD, &mixed);
  MPI_Comm_set_name(mixed, "mixed");
  send_to_nobody(host, 8, mixed);
  send_to_nobody((void*)device, 8, mixed);
  receive_from_nobody((void*)managed, 8, mixed);

  MPI_Info_create(&info);
  MPI_Info_set(info, "mpi_communication_pattern", "MPI_CPU_TO_CPU");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &output);
  MPI_Comm_set_name(output, "output");
  send_to_nobody(pinned, 24, output);
  MPI_Sendrecv_replace(host, 64, MPI_BYTE, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, output, MPI_STATUS_IGNORE);

  MPI_Bcast(host, 64, MPI_BYTE, 0, MPI_COMM_WORLD);
  MPI_Win_create(other, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(host, 4, MPI_BYTE, MPI_PROC_NULL, 0, 4, MPI_BYTE, window);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
