/* Types over several allocations, and types over both memories.
   Usage: staged_allocations_job all | PART (see main). 2 ranks. */
#include "staged_pairs.h"

#define D MPI_DOUBLE
#define W MPI_COMM_WORLD
#define I MPI_STATUS_IGNORE

static int peer;

static double* device_doubles(int count) {
  device_pointer made;
  cuMemAlloc_v2(&made, (size_t)count * sizeof(double));
  return (double*)made;
}

static void sort_addresses(double** all, int count) {
  for (int i = 1; i < count; ++i) {
    for (int j = i; j > 0 && all[j] < all[j - 1]; --j) {
      double* higher = all[j - 1];
      all[j - 1] = all[j];
      all[j] = higher;
    }
  }
}

/* A type over two allocations, with a third between them that is not in it; absolute and from the first one. */
static void two_allocations(void) {
  double values[3 * N], *a[3];
  MPI_Aint where[2], from_first[2] = {0, 0};
  MPI_Datatype absolute, relative, strided;
  for (int i = 0; i < 3; ++i) a[i] = device_doubles(N);
  sort_addresses(a, 3);
  MPI_Get_address(a[0] + 10, &where[0]);
  MPI_Get_address(a[2] + 20, &where[1]);
  from_first[1] = where[1] - where[0];
  MPI_Type_create_hindexed_block(2, 100, where, D, &absolute);
  MPI_Type_create_hindexed_block(2, 100, from_first, D, &relative);
  MPI_Type_create_hvector(2, 100, from_first[1], D, &strided);
  MPI_Type_commit(&absolute);
  MPI_Type_commit(&relative);
  MPI_Type_commit(&strided);
  for (int way = 0; way < 3; ++way) {
    const MPI_Datatype type = way == 0 ? absolute : way == 1 ? relative : strided;
    void* buffer = way == 0 ? MPI_BOTTOM : (void*)(a[0] + 10);
    MPI_Request q;
    for (int i = 0; i < N; ++i) values[i] = i + 7 * rank;
    for (int i = 0; i < 3; ++i) cuMemcpyHtoD_v2((device_pointer)a[i], values, N * sizeof(double));
    MPI_Barrier(W);
    MPI_Isend(buffer, 1, type, peer, 1, W, &q); /* of what is there: 10.. and 20.. */
    MPI_Recv(values, 200, D, peer, 1, W, I);
    MPI_Wait(&q, I);
    for (int i = 0; i < 200; ++i) failures += values[i] != (i < 100 ? 10 + i : 20 + i - 100) + 7 * peer;
    for (int i = 0; i < 200; ++i) values[i] = 1000 * (way + 1) + i;
    MPI_Irecv(buffer, 1, type, peer, 2, W, &q);
    const double other = 123;
    cuMemcpyHtoD_v2((device_pointer)(a[1] + 3), &other, sizeof other);
    cuMemcpyHtoD_v2((device_pointer)(a[0] + 5), &other, sizeof other);
    MPI_Send(values, 200, D, peer, 2, W);
    MPI_Wait(&q, I);
    for (int i = 0; i < 3; ++i) cuMemcpyDtoH_v2(values + i * N, (device_pointer)a[i], N * sizeof(double));
    for (int i = 0; i < 3 * N; ++i) {
      const int j = i % N, first = i / N == 0 ? 10 : 20;
      double expected = j + 7 * rank;
      if (i / N != 1 && j >= first && j < first + 100) expected = 1000 * (way + 1) + j - first + (i / N == 2 ? 100 : 0);
      if (i == N + 3 || i == 5) expected = other;
      if (values[i] == expected) continue;
      fprintf(stderr, "rank %d, two allocations, way %d: %d of allocation %d is %g instead of %g\n", rank, way, j, i / N,
              values[i], expected);
      ++failures;
      break;
    }
  }
  MPI_Type_free(&absolute);
  MPI_Type_free(&relative);
  MPI_Type_free(&strided);
  for (int i = 0; i < 3; ++i) cuMemFree_v2((device_pointer)a[i]);
}

/* Data in a row over two allocations that abut, as mapped memory may, of which the library knows nothing. */
static void abutting(void) {
  enum { bytes = 2 << 20, page = bytes / sizeof(double) }; /* a granule of mapped memory */
  static double values[2 * page], seen[2 * page];
  cuModuleUnload(NULL); /* so that it has to ask the driver from now on */
  double* a = (double*)fake_cuda_abutting_memory(bytes);
  if (a == NULL) {
    ++failures;
    return;
  }
  for (int arrived = 2; arrived <= page + 100; arrived += page / 2 + 49) { /* up to the boundary, and over it */
    MPI_Request q;
    for (int i = 0; i < 2 * page; ++i) values[i] = -1 - i;
    cuMemcpyHtoD_v2((device_pointer)a, values, sizeof values);
    for (int i = 0; i < 2 * page; ++i) values[i] = 100 * (rank + 1) + i;
    MPI_Barrier(W);
    MPI_Irecv(a + 10, 2 * page - 10, D, peer, 1, W, &q);
    MPI_Send(values, arrived, D, peer, 1, W);
    MPI_Wait(&q, I);
    cuMemcpyDtoH_v2(seen, (device_pointer)a, sizeof seen);
    for (int i = 0; i < 2 * page; ++i) {
      failures += seen[i] != (i >= 10 && i < 10 + arrived ? 100 * (peer + 1) + i - 10 : -1 - i);
    }
    MPI_Sendrecv(a + 10, 2 * page - 10, D, peer, 2, seen, 2 * page, D, peer, 2, W, I);
    for (int i = 0; i < arrived; ++i) failures += seen[i] != 100 * (rank + 1) + i;
  }
  /* Small copies to such memory return before their data has arrived, before each start, too. */
  MPI_Request sending;
  MPI_Send_init(a, 100, D, peer, 3, W, &sending);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 100; ++i) values[i] = 1000 * turn + 100 * rank + i;
    cuMemcpyHtoD_v2((device_pointer)a, values, 100 * sizeof(double));
    MPI_Start(&sending);
    MPI_Recv(seen, 100, D, peer, 3, W, I);
    MPI_Wait(&sending, I);
    for (int i = 0; i < 100; ++i) failures += seen[i] != 1000 * turn + 100 * peer + i;
  }
  MPI_Request_free(&sending);
}

/* Types that reach into both memories (D: device, H: host, in the order of their addresses), or over too much. */
static const char* const reaching_out[] = {"DHD", "DDH", "HDH", "apart", "devices", NULL};

static char place_by_driver(const double* address) {
  unsigned memory_type = 0;
  return cuPointerGetAttribute(&memory_type, 2, (device_pointer)address) == 0 && memory_type == 2 ? 'D' : 'H';
}

static void refused(const char* where) {
  static double host[3];
  const int apart = strcmp(where, "apart") == 0;
  double *all[8], *parts[3];
  for (int i = 0; i < 8; ++i) all[i] = apart ? device_doubles(50 << 20) : i % 2 == 0 ? device_doubles(1 << 20) : malloc(8 << 20);
  sort_addresses(all, 8);
  int found = 0;
  for (int i = 0; i < 8 && found < 3; ++i) {
    if (!apart && place_by_driver(all[i]) == where[found]) parts[found++] = all[i];
  }
  for (; apart && found < 3; ++found) parts[found] = all[found == 2 ? 7 : found];
  if (strcmp(where, "devices") == 0) {
    double* on_first = device_doubles(10);
    void *context, *popped;
    cuDevicePrimaryCtxRetain(&context, 1);
    cuCtxPushCurrent_v2(context);
    parts[0] = device_doubles(10);
    for (found = 1; found < 3; ++found) parts[found] = on_first + found;
    cuCtxPopCurrent_v2(&popped);
  }
  if (found < 3) {
    if (rank == 0) printf("SKIPPED: there is no memory in the order %s\n", where);
    MPI_Finalize();
    exit(77);
  }
  MPI_Aint addresses[3];
  MPI_Datatype type;
  for (int i = 0; i < 3; ++i) MPI_Get_address(parts[i], &addresses[i]);
  MPI_Type_create_hindexed_block(3, 1, addresses, D, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(host, 3, D, peer, 1, MPI_BOTTOM, 1, type, peer, 1, W, I);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(W, &rank);
  MPI_Comm_size(W, &ranks);
  peer = 1 - rank;
  use_device(0);
  const char* part = argv[argc - 1];
  const int all = strcmp(part, "all") == 0;
  for (const char* const* where = reaching_out; *where != NULL; ++where) {
    if (strcmp(part, *where) == 0) refused(part);
  }
  if (all || strcmp(part, "allocations") == 0) two_allocations();
  if (all || strcmp(part, "abutting") == 0) abutting();
  return end_of_pairs("all allocations reached");
}
