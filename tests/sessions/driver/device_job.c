/* Buffers of every kind given to an MPI that asks the driver about them (aware_mpi.cc). Usage: device_job CASE
     many       1000 exchanges of host memory, then some of pinned, registered and again unregistered memory
     device     the attributes of device memory, as the MPI asks for them, before and after it is freed
     secret     device memory that the library cannot have seen
     opened     memory of another process that is opened twice, then closed once and again
     unload     host memory, after a module was unloaded */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_cuda.h"

static int rank;

static void exchange(void* a, void* b, int bytes) {
  MPI_Sendrecv(a, bytes, MPI_BYTE, 1 - rank, 0, b, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void many(void) {
  char a[64] = {0}, b[64];
  void* pinned;
  char* registered = malloc(8192);
  for (int i = 0; i < 1000; ++i) exchange(a, b, 64);
  use_device(0);
  cuMemAllocHost_v2(&pinned, 4096);
  for (int i = 0; i < 10; ++i) exchange(pinned, b, 64);
  cuMemFreeHost(pinned);
  cuMemHostRegister_v2(registered, 8192, 0);
  for (int i = 0; i < 10; ++i) exchange(registered, b, 64);
  cuMemHostUnregister(registered);
  for (int i = 0; i < 10; ++i) exchange(registered, b, 64);
  free(registered);
}

static void print_attributes(const char* what, device_pointer pointer) {
  unsigned type = 9;
  uint64_t context = 9, id = 9;
  int ordinal = 9;
  unsigned char managed = 9;
  int attributes[] = {2, 1, 9, 8};
  void* data[] = {&type, &context, &ordinal, &managed};
  const int many = cuPointerGetAttributes(4, attributes, data, pointer);
  const int one = cuPointerGetAttribute(&id, 7, pointer);
  printf("%s: %d type %u context %d ordinal %d managed %d; id %d %d\n", what, many, type, context != 0, ordinal, managed,
         one, (int)id);
}

static void device(void) {
  device_pointer first, second, managed;
  int local = 0;
  if (rank != 0) return;
  use_device(0);
  cuMemAlloc_v2(&first, 1 << 20);
  cuMemAlloc_v2(&second, 5 << 20);
  cuMemAllocManaged(&managed, 4096, 1);
  for (int i = 0; i < 3; ++i) {
    print_attributes("first", first + 100);
    print_attributes("second", second + (5 << 20) - 1);
    print_attributes("managed", managed);
    print_attributes("local", (device_pointer)&local);
  }
  cuMemFree_v2(second);
  print_attributes("freed", second);
  cuMemFree_v2(first);
  printf("%lu queries\n", fake_cuda_queries());
}

static void opened(void) {
  device_pointer memory, once, again;
  fake_ipc_handle handle;
  if (rank != 0) return;
  use_device(0);
  cuMemAlloc_v2(&memory, 4096);
  cuIpcGetMemHandle(&handle, memory);
  cuIpcOpenMemHandle_v2(&once, handle, 1);
  cuIpcOpenMemHandle_v2(&again, handle, 1);
  printf("opened at the same address: %d\n", once == again);
  print_attributes("opened twice", once + 8);
  printf("closed: %d\n", cuIpcCloseMemHandle(once));
  print_attributes("closed once", once + 8);
  printf("closed: %d\n", cuIpcCloseMemHandle(once));
  print_attributes("closed twice", once + 8);
  printf("closed: %d\n", cuIpcCloseMemHandle(once));
}

static void secret(void) {
  unsigned type = 0;
  int local = 0;
  cuPointerGetAttribute(&type, 2, (device_pointer)&local);
  cuPointerGetAttribute(&type, 2, fake_cuda_secret_memory());
  printf("type %u\n", type);
}

static void unload(void) {
  char a[64] = {0}, b[64];
  for (int i = 0; i < 10; ++i) exchange(a, b, 64);
  cuModuleUnload(NULL);
  for (int i = 0; i < 10; ++i) exchange(a, b, 64);
}

int main(int argc, char** argv) {
  const char* what = argc == 2 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cuInit(0);
  if (strcmp(what, "many") == 0) many();
  if (strcmp(what, "device") == 0) device();
  if (strcmp(what, "secret") == 0) secret();
  if (strcmp(what, "opened") == 0) opened();
  if (strcmp(what, "unload") == 0) unload();
  MPI_Finalize();
  return 0;
}
