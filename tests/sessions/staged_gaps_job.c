/* Types and blocks with gaps in device memory: what lies in a gap is another operation's, or a kernel's, and stays.
   Usage: staged_gaps_job all | PART (see main). 2 ranks. */
#include "staged_pairs.h"

#define D MPI_DOUBLE
#define W MPI_COMM_WORLD
#define I MPI_STATUS_IGNORE
#define IS MPI_STATUSES_IGNORE
#define ROWS 60 /* of a matrix of doubles */
#define COLUMNS 50

static int peer;
static double matrix[ROWS * COLUMNS];
static double *device, *sent;
static MPI_Datatype column;

static double* device_doubles(int count) {
  device_pointer made;
  cuMemAlloc_v2(&made, (size_t)count * sizeof(double));
  return (double*)made;
}

static void fill_matrices(void) {
  for (int i = 0; i < ROWS * COLUMNS; ++i) matrix[i] = 10000 * (rank + 1) + i;
  cuMemcpyHtoD_v2((device_pointer)sent, matrix, sizeof matrix);
  for (int i = 0; i < ROWS * COLUMNS; ++i) matrix[i] = -1 - i;
  cuMemcpyHtoD_v2((device_pointer)device, matrix, sizeof matrix);
  MPI_Barrier(W);
}

/* In columns that `from` names there is the peer's column, elsewhere what was. */
static void expect_columns(const char* what, const int* from, double elsewhere) {
  cuMemcpyDtoH_v2(matrix, (device_pointer)device, sizeof matrix);
  for (int i = 0; i < ROWS * COLUMNS; ++i) {
    const int j = i % COLUMNS;
    const double came = 10000 * (peer + 1) + (i - j) + from[j];
    const double expected = from[j] >= 0 ? came : elsewhere - i;
    if (matrix[i] == expected) continue;
    fprintf(stderr, "rank %d, %s: row %d column %d is %g instead of %g\n", rank, what, i / COLUMNS, j, matrix[i], expected);
    ++failures;
    return;
  }
}

static const int* outer_columns(void) {
  static int from[COLUMNS];
  for (int j = 0; j < COLUMNS; ++j) from[j] = -1;
  from[0] = COLUMNS - 2;
  from[COLUMNS - 1] = 1;
  return from;
}

/* The halo of a matrix: both outer columns are under way at once. */
static void halo(void) {
  MPI_Request q[4];
  double *left = device, *right = device + COLUMNS - 1;
  fill_matrices();
  MPI_Irecv(left, 1, column, peer, 1, W, &q[0]);
  MPI_Irecv(right, 1, column, peer, 2, W, &q[1]);
  MPI_Isend(sent + COLUMNS - 2, 1, column, peer, 1, W, &q[2]);
  MPI_Isend(sent + 1, 1, column, peer, 2, W, &q[3]);
  MPI_Waitall(4, q, IS);
  expect_columns("Irecv", outer_columns(), -1);

  MPI_Recv_init(left, 1, column, peer, 3, W, &q[0]);
  MPI_Recv_init(right, 1, column, peer, 4, W, &q[1]);
  MPI_Send_init(sent + COLUMNS - 2, 1, column, peer, 3, W, &q[2]);
  MPI_Send_init(sent + 1, 1, column, peer, 4, W, &q[3]);
  for (int turn = 0; turn < 2; ++turn) {
    fill_matrices();
    MPI_Startall(4, q);
    MPI_Waitall(4, q, IS);
    expect_columns("Startall", outer_columns(), -1);
  }
  for (int i = 0; i < 4; ++i) MPI_Request_free(&q[i]);
}

/* Collectives, each with a part of the matrix, under way at once. */
static void collectives(void) {
  MPI_Comm other, ring;
  MPI_Request q[2];
  const int counts[2] = {rank == 1, rank == 0};
  const int none[2] = {0, 0}, bytes[2] = {0, 0}, one[2] = {1, 1};
  const MPI_Datatype types[2] = {column, column};
  MPI_Comm_dup(W, &other);
  fill_matrices();
  MPI_Ialltoallw(sent + COLUMNS - 2, counts, bytes, types, device, counts, bytes, types, W, &q[0]);
  MPI_Ialltoallw(sent + 1, counts, bytes, types, device + COLUMNS - 1, counts, bytes, types, other, &q[1]);
  MPI_Waitall(2, q, IS);
  expect_columns("Ialltoallw", outer_columns(), -1);
  fill_matrices();
  MPI_Ialltoallv(sent + COLUMNS - 2, counts, none, column, device, counts, none, column, W, &q[0]);
  MPI_Ialltoallv(sent + 1, counts, none, column, device + COLUMNS - 1, counts, none, column, other, &q[1]);
  MPI_Waitall(2, q, IS);
  expect_columns("Ialltoallv", outer_columns(), -1);

  /* The column at the left comes from both, one after the other, so that only the right one is compared. */
  MPI_Cart_create(W, 1, (int[]){2}, (int[]){1}, 0, &ring);
  fill_matrices();
  const MPI_Aint outer[2] = {0, 8 * (COLUMNS - 1)}, inner[2] = {8, 8 * (COLUMNS - 2)};
  MPI_Ineighbor_alltoallw(sent, one, inner, types, device, one, outer, types, ring, &q[0]);
  MPI_Irecv(device + 5, 1, column, peer, 7, W, &q[1]);
  MPI_Send(sent + 5, 1, column, peer, 7, W);
  MPI_Waitall(2, q, IS);
  int from[COLUMNS];
  memcpy(from, outer_columns(), sizeof from);
  from[5] = 5;
  cuMemcpyDtoH_v2(matrix, (device_pointer)device, sizeof matrix);
  if ((int)matrix[0] % 10000 == 1) from[0] = 1, from[COLUMNS - 1] = COLUMNS - 2; /* of two neighbours that are one */
  expect_columns("Ineighbor_alltoallw", from, -1);
  MPI_Comm_free(&ring);
  MPI_Comm_free(&other);
}

static void one_sided(void) {
  double* w;
  MPI_Win win;
  MPI_Win_allocate(8 * ROWS * COLUMNS, 8, MPI_INFO_NULL, W, &w, &win);
  fill_matrices();
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
  for (int i = 0; i < ROWS * COLUMNS; ++i) w[i] = 10000 * (rank + 1) + i;
  MPI_Win_unlock(rank, win);
  MPI_Win_fence(0, win);
  MPI_Get(device, 1, column, peer, COLUMNS - 2, 1, column, win);
  MPI_Get(device + COLUMNS - 1, 1, column, peer, 1, 1, column, win);
  MPI_Win_fence(0, win);
  expect_columns("Get", outer_columns(), -1);
  MPI_Win_free(&win);
}

/* A kernel works on the interior while a column is under way. */
static void interior(void) {
  MPI_Request q;
  int from[COLUMNS], token = 0;
  for (int j = 0; j < COLUMNS; ++j) from[j] = j == 3 ? 4 : -1;
  for (int persistent = 0; persistent < 2; ++persistent) {
    fill_matrices();
    if (persistent) {
      MPI_Recv_init(device + 3, 1, column, peer, 1, W, &q);
      MPI_Start(&q);
    } else {
      MPI_Irecv(device + 3, 1, column, peer, 1, W, &q);
    }
    for (int i = 0; i < ROWS * COLUMNS; ++i) matrix[i] = -5 - i;
    for (int i = 0; i < ROWS; ++i) {
      const int row = i * COLUMNS;
      cuMemcpyHtoD_v2((device_pointer)(device + row), matrix + row, 3 * sizeof(double));
      cuMemcpyHtoD_v2((device_pointer)(device + row + 4), matrix + row + 4, (COLUMNS - 4) * sizeof(double));
    }
    MPI_Sendrecv_replace(&token, 1, MPI_INT, peer, 2, peer, 2, W, I);
    MPI_Send(sent + 4, 1, column, peer, 1, W);
    MPI_Wait(&q, I);
    if (persistent) MPI_Request_free(&q);
    expect_columns("interior", from, -5);
  }
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

/* Both ways with a type, which is freed; `count` of it hold `values` doubles' worth of bytes, or less are sent. */
static void exchange(const char* what, MPI_Datatype type, int count, int at) {
  int size;
  MPI_Type_commit(&type);
  MPI_Type_size(type, &size);
  SAME(W, what, {
    MPI_Request q;
    MPI_Irecv((char*)r + at, count, type, peer, 1, W, &q);
    MPI_Send(s, count * size, MPI_BYTE, peer, 1, W);
    MPI_Wait(&q, I);
    MPI_Sendrecv((char*)s + at, count, type, peer, 2, r + N / 2, count * size, MPI_BYTE, peer, 2, W, I);
    MPI_Irecv((char*)s + at, count, type, peer, 3, W, &q); /* less than it could hold */
    MPI_Send(r, size, MPI_BYTE, peer, 3, W);
    MPI_Wait(&q, I);
    MPI_Bcast((char*)s + at, count, type, 1, W); /* filled as a whole */
  });
  MPI_Type_free(&type);
}

/* How types are made, each within another. */
static void kinds_of_types(void) {
  MPI_Datatype t, u, mixed;
  int sizes[] = {6, 7, 8}, parts[] = {3, 2, 5}, starts[] = {2, 4, 1};
  for (int order = 0; order < 2; ++order) {
    MPI_Type_create_subarray(3, sizes, parts, starts, order == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN, D, &t);
    exchange("subarray", t, 2, 16);
  }
  MPI_Type_create_darray(4, 2, 2, (int[]){20, 30}, (int[]){MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK},
                         (int[]){3, MPI_DISTRIBUTE_DFLT_DARG}, (int[]){2, 2}, MPI_ORDER_C, D, &t);
  exchange("darray", t, 2, 0);
  MPI_Type_vector(40, 1, 30, D, &t);
  MPI_Type_create_resized(t, 0, 8, &u);
  MPI_Type_free(&t);
  exchange("columns side by side", u, 5, 8);
  MPI_Type_vector(40, 1, 30, D, &t);
  MPI_Type_create_resized(t, 0, 40, &u);
  MPI_Type_free(&t);
  exchange("columns, some apart", u, 5, 8);
  MPI_Type_vector(7, 2, -5, D, &t);
  MPI_Type_create_hvector(3, 2, -700, t, &u);
  MPI_Type_free(&t);
  exchange("vectors of vectors, backwards", u, 2, 24000);
  MPI_Type_create_struct(3, (int[]){2, 1, 3}, (MPI_Aint[]){40, 0, 12}, (MPI_Datatype[]){D, MPI_INT, MPI_CHAR}, &mixed);
  MPI_Type_dup(mixed, &t);
  exchange("struct", t, 100, 0);
  MPI_Type_indexed(4, (int[]){1, 3, 0, 2}, (int[]){9, 0, 5, 3}, mixed, &t);
  exchange("indexed", t, 4, 0);
  MPI_Type_create_hindexed(3, (int[]){1, 3, 2}, (MPI_Aint[]){2000, 0, 600}, mixed, &t);
  exchange("hindexed", t, 3, 0);
  MPI_Type_create_indexed_block(3, 2, (int[]){8, 0, 4}, mixed, &t);
  MPI_Type_contiguous(3, t, &u);
  MPI_Type_free(&t);
  exchange("contiguous", u, 3, 0);
  MPI_Type_create_hindexed_block(20, 1, (MPI_Aint[]){0, 8, 24, 40, 56, 72, 88, 104, 1000, 1008, 1024, 1200, 1300, 1400, 1404,
                                         1408, 1416, 2000, 1992, 3000}, MPI_INT, &t);
  exchange("hindexed_block", t, 3, 0);
  exchange("a pair with a gap", (MPI_Type_dup(MPI_SHORT_INT, &t), t), 50, 0);
  MPI_Type_free(&mixed);
#if MPI_VERSION >= 4
  MPI_Type_vector_c(40, 1, 30, D, &t);
  exchange("Type_vector_c", t, 1, 8);
  MPI_Type_create_subarray_c(2, (MPI_Count[]){30, 20}, (MPI_Count[]){10, 4}, (MPI_Count[]){7, 9}, MPI_ORDER_C, D, &t);
  exchange("Type_create_subarray_c", t, 2, 0);
  MPI_Type_create_struct_c(2, (MPI_Count[]){2, 1}, (MPI_Count[]){40, 0}, (MPI_Datatype[]){D, MPI_INT}, &t);
  exchange("Type_create_struct_c", t, 9, 0);
  MPI_Type_create_hindexed_c(2, (MPI_Count[]){2, 1}, (MPI_Count[]){0, 400}, D, &t);
  exchange("Type_create_hindexed_c", t, 9, 0);
#endif
}

static unsigned drawn = 12345;
static int draw(int from, int to) { return from + (int)((drawn = drawn * 1664525u + 1013904223u) >> 16) % (to - from + 1); }

/* Of a type whose parts do not overlap, and of whose elements none do. Frees `part`. */
static MPI_Datatype drawn_around(MPI_Datatype part) {
  MPI_Datatype made, other;
  MPI_Aint lower, extent;
  int lengths[4], starts[4], at = draw(0, 2);
  MPI_Type_get_extent(part, &lower, &extent);
  for (int i = 0; i < 4; ++i) {
    lengths[i] = draw(0, 3);
    starts[i] = at;
    at += lengths[i] + draw(0, 2);
  }
  const int swapped = draw(0, 3), first = starts[swapped], length = lengths[swapped];
  starts[swapped] = starts[0], lengths[swapped] = lengths[0], starts[0] = first, lengths[0] = length;
  MPI_Aint bytes[4];
  for (int i = 0; i < 4; ++i) bytes[i] = starts[i] * extent;
  const int count = draw(1, 4), block = draw(1, 3), stride = block + draw(0, 3);
  switch (draw(0, 7)) {
    case 0: MPI_Type_contiguous(count, part, &made); break;
    case 1: MPI_Type_vector(count, block, stride, part, &made); break;
    case 2: MPI_Type_create_hvector(count, block, stride * extent + 4 * draw(0, 2), part, &made); break;
    case 3: MPI_Type_indexed(4, lengths, starts, part, &made); break;
    case 4: MPI_Type_create_hindexed(4, lengths, bytes, part, &made); break;
    case 5: MPI_Type_create_struct(4, lengths, bytes, (MPI_Datatype[]){part, part, part, part}, &made); break;
    case 6: MPI_Type_create_subarray(2, (int[]){count + 1, stride + 1}, (int[]){count, block}, (int[]){1, 1},
                                     draw(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, part, &made); break;
    default: MPI_Type_dup(part, &made);
  }
  MPI_Type_free(&part);
  MPI_Type_get_true_extent(made, &lower, &extent);
  MPI_Type_create_resized(made, 0, lower + extent + 4 * draw(0, 1), &other);
  MPI_Type_free(&made);
  return other;
}

static void drawn_types(void) {
  for (int i = 0; i < 200; ++i) {
    char what[40];
    MPI_Datatype t, next;
    MPI_Aint lower, extent;
    sprintf(what, "drawn type %d", i);
    MPI_Type_dup(draw(0, 1) ? MPI_INT : D, &t);
    for (int depth = draw(1, 3); depth > 0; --depth) t = drawn_around(t);
    MPI_Type_get_extent(t, &lower, &extent);
    if (4 * extent > (MPI_Aint)(N / 2 * sizeof(double))) {
      MPI_Type_free(&t);
      continue;
    }
    MPI_Type_dup(t, &next);
    MPI_Type_free(&t);
    exchange(what, next, draw(1, 4), 8 * draw(0, 5));
  }
}

/* Types that reach into both memories (D: device, H: host, in the order of their addresses), or over too much. */
static const char* const reaching_out[] = {"DHD", "DDH", "HDH", "apart", NULL};

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
  if (found < 3) return;
  MPI_Aint addresses[3];
  MPI_Datatype type;
  for (int i = 0; i < 3; ++i) MPI_Get_address(parts[i], &addresses[i]);
  MPI_Type_create_hindexed_block(3, 1, addresses, D, &type);
  MPI_Type_commit(&type);
  MPI_Sendrecv(host, 3, D, peer, 1, MPI_BOTTOM, 1, type, peer, 1, W, I);
}

int main(int argc, char** argv) {
  void* context;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(W, &rank);
  MPI_Comm_size(W, &ranks);
  peer = 1 - rank;
  cuInit(0);
  cuDevicePrimaryCtxRetain(&context, 0);
  cuCtxSetCurrent(context);
  make_pairs();
  const char* part = argv[argc - 1];
  const int all = strcmp(part, "all") == 0;
  device = device_doubles(ROWS * COLUMNS);
  sent = device_doubles(ROWS * COLUMNS);
  MPI_Type_vector(ROWS, 1, COLUMNS, D, &column);
  MPI_Type_commit(&column);
  if (all || strcmp(part, "halo") == 0) halo();
  if (all || strcmp(part, "collectives") == 0) collectives();
  if (all || strcmp(part, "one_sided") == 0) one_sided();
  if (all || strcmp(part, "interior") == 0) interior();
  if (all || strcmp(part, "allocations") == 0) two_allocations();
  if (all || strcmp(part, "types") == 0) kinds_of_types();
  if (all || strcmp(part, "drawn") == 0) drawn_types();
  for (const char* const* where = reaching_out; *where != NULL; ++where) {
    if (strcmp(part, *where) == 0) refused(part);
  }
  MPI_Type_free(&column);
  return end_of_pairs("all gaps kept");
}
