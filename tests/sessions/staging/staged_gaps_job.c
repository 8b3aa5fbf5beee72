/* Columns of a matrix in device memory, alone and several at once: what lies in a gap is another operation's, or a
   kernel's, and stays. Usage: staged_gaps_job all | PART (see main). 2 ranks. */
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

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(W, &rank);
  MPI_Comm_size(W, &ranks);
  peer = 1 - rank;
  use_device(0);
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
  MPI_Type_free(&column);
  return end_of_pairs("all gaps kept");
}
