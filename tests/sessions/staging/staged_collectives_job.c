/* Collectives of all kinds with device memory and with host memory. 2 to 4 ranks. */
#include "staged_pairs.h"

#define D MPI_DOUBLE
#define WAIT(...)                              \
  {                                            \
    MPI_Request q;                             \
    __VA_ARGS__;                               \
    MPI_Wait(&q, MPI_STATUS_IGNORE);           \
  }

/* Blocks of i + 2 elements, with gaps; in bytes for calls with types of their own. */
static int counts[8], starts[8], bytes[8], same[8], rows[8];
static MPI_Datatype types[8];
static MPI_Aint wide[8];

static void make_blocks(void) {
  for (int i = 0; i < 8; ++i) {
    counts[i] = i + 2;
    starts[i] = 3 + 40 * (7 - i); /* from the end to the beginning */
    bytes[i] = starts[i] * 8;
    wide[i] = bytes[i];
    same[i] = rank + 2;
    rows[i] = 20 * i;
    types[i] = D;
  }
}

/* MPICH 4.0 reduces in place at rank 0 only, and its persistent collectives fail with more than two ranks. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
static const int old_mpich = 1;
#else
static const int old_mpich = 0;
#endif

/* Each is written once and called blocking, nonblocking and, with MPI 4, twice as a persistent operation. */
#if MPI_VERSION >= 4
#define PERSISTENT(name, ...)                                      \
  if (!old_mpich || ranks == 2) SAME(comm, #name "_init", {                                      \
    MPI_Request q;                                                 \
    MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &q);       \
    for (int turn = 0; turn < 2; ++turn) {                         \
      MPI_Start(&q);                                               \
      MPI_Wait(&q, MPI_STATUS_IGNORE);                             \
    }                                                              \
    MPI_Request_free(&q);                                          \
  })
#else
#define PERSISTENT(name, ...)
#endif
#define THREE(name, nonblocking, ...)                                         \
  do {                                                                        \
    SAME(comm, #name, MPI_##name(__VA_ARGS__, comm));                         \
    SAME(comm, #nonblocking, WAIT(MPI_##nonblocking(__VA_ARGS__, comm, &q))); \
    PERSISTENT(name, __VA_ARGS__);                                            \
  } while (0)

static void collectives(MPI_Comm comm, int root) {
  const int me = rank;
  void* in_place = MPI_IN_PLACE;
  THREE(Bcast, Ibcast, s, N, D, root);
  THREE(Gather, Igather, s, 7, D, r, 7, D, root);
  THREE(Gather, Igather, me == root ? in_place : r, 7, D, r, 7, D, root);
  THREE(Gatherv, Igatherv, s, counts[me], D, r, counts, starts, D, root);
  THREE(Scatter, Iscatter, s, 7, D, r, 7, D, root);
  THREE(Scatter, Iscatter, s, 7, D, me == root ? in_place : r, 7, D, root);
  THREE(Scatterv, Iscatterv, s, counts, starts, D, r, counts[me], D, root);
  THREE(Allgather, Iallgather, s, 7, D, r, 7, D);
  THREE(Allgather, Iallgather, in_place, 0, D, r, 7, D);
  THREE(Allgatherv, Iallgatherv, s, counts[me], D, r, counts, starts, D);
  THREE(Allgatherv, Iallgatherv, in_place, 0, MPI_DATATYPE_NULL, r, counts, starts, D);
  THREE(Alltoall, Ialltoall, s, 7, D, r, 7, D);
  THREE(Alltoall, Ialltoall, in_place, 0, D, r, 7, D);
  THREE(Alltoallv, Ialltoallv, s, counts, starts, D, r, same, rows, D);
  THREE(Alltoallw, Ialltoallw, s, counts, bytes, types, r, same, bytes, types);
  THREE(Reduce, Ireduce, s, r, N, D, MPI_SUM, root);
  if (root == 0 || !old_mpich) THREE(Reduce, Ireduce, me == root ? in_place : s, r, N, D, MPI_SUM, root);
  THREE(Allreduce, Iallreduce, s, r, N, D, MPI_SUM);
  THREE(Allreduce, Iallreduce, in_place, r, N, D, MPI_MAX);
  THREE(Scan, Iscan, s, r, 100, D, MPI_SUM);
  THREE(Scan, Iscan, in_place, r, 100, D, MPI_SUM);
  THREE(Exscan, Iexscan, s, r, 100, D, MPI_SUM);
  THREE(Exscan, Iexscan, in_place, r, 100, D, MPI_SUM);
  THREE(Reduce_scatter_block, Ireduce_scatter_block, s, r, 9, D, MPI_SUM);
  THREE(Reduce_scatter_block, Ireduce_scatter_block, in_place, r, 9, D, MPI_SUM);
  THREE(Reduce_scatter, Ireduce_scatter, s, r, counts, D, MPI_SUM);
  THREE(Reduce_scatter, Ireduce_scatter, in_place, r, counts, D, MPI_SUM);
}

/* A line of ranks: its ends have neighbours that do not exist, whose blocks stay as they were. */
static void neighbours(MPI_Comm comm) {
  int out[8], in[8], num_sources = 2, num_targets = 2, topology;
  MPI_Topo_test(comm, &topology);
  if (topology == MPI_DIST_GRAPH) MPI_Dist_graph_neighbors_count(comm, &num_sources, &num_targets, &topology);
  for (int i = 0; i < 8; ++i) out[i] = in[i] = 3;
  THREE(Neighbor_allgather, Ineighbor_allgather, s, 5, D, r, 5, D);
  THREE(Neighbor_allgatherv, Ineighbor_allgatherv, s, 3, D, r, in, starts, D);
  THREE(Neighbor_alltoall, Ineighbor_alltoall, s, 5, D, r, 5, D);
  THREE(Neighbor_alltoallv, Ineighbor_alltoallv, s, out, starts, D, r, in, rows, D);
  THREE(Neighbor_alltoallw, Ineighbor_alltoallw, s, out, wide, types, r, in, wide, types);
}

static void make_topologies(MPI_Comm* line, MPI_Comm* star) {
  const int periodic = 0;
  int others[8];
  for (int i = 1; i < ranks; ++i) others[i - 1] = i;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, line);
  /* From rank 0 to all others, which send nothing back. */
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank == 0 ? 0 : 1, &(int){0}, MPI_UNWEIGHTED, rank == 0 ? ranks - 1 : 0,
                                 others, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, star);
}

/* Between rank 0 and the others. */
static void between_groups(void) {
  MPI_Comm own, inter;
  const int is_first = rank == 0;
  MPI_Comm_split(MPI_COMM_WORLD, is_first, rank, &own);
  MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, is_first ? 1 : 0, 5, &inter);
  const int root = is_first ? MPI_ROOT : 0;               /* rank 0 */
  const int other = is_first ? 0 : rank == 1 ? MPI_ROOT : MPI_PROC_NULL; /* the first of the others */
  for (int turn = 0; turn < 2; ++turn) {
    const int from = turn == 0 ? root : other;
    SAME(MPI_COMM_WORLD, "Bcast between groups", MPI_Bcast(s, 50, D, from, inter));
    SAME(MPI_COMM_WORLD, "Ibcast between groups", WAIT(MPI_Ibcast(s, 50, D, from, inter, &q)));
    SAME(MPI_COMM_WORLD, "Gather between groups", MPI_Gather(s, 5, D, r, 5, D, from, inter));
    SAME(MPI_COMM_WORLD, "Scatter between groups", MPI_Scatter(s, 5, D, r, 5, D, from, inter));
    SAME(MPI_COMM_WORLD, "Reduce between groups", MPI_Reduce(s, r, 50, D, MPI_SUM, from, inter));
  }
  SAME(MPI_COMM_WORLD, "Allgather between groups", MPI_Allgather(s, 5, D, r, 5, D, inter));
  SAME(MPI_COMM_WORLD, "Alltoall between groups", MPI_Alltoall(s, 5, D, r, 5, D, inter));
  SAME(MPI_COMM_WORLD, "Allreduce between groups", MPI_Allreduce(s, r, 50, D, MPI_SUM, inter));
  MPI_Comm_free(&inter);
  MPI_Comm_free(&own);
}

/* Several at once, completed in one call, and one that is looked at before. */
static void together(MPI_Comm comm) {
  SAME(comm, "several at once", {
    MPI_Request q[3];
    int done = 0;
    MPI_Iallreduce(s, r, 500, D, MPI_SUM, comm, &q[0]);
    MPI_Iallgather(s + 500, 4, D, r + 600, 4, D, comm, &q[1]);
    MPI_Ibcast(s + 1000, 100, D, 0, comm, &q[2]);
    while (!done) MPI_Testall(3, q, &done, MPI_STATUSES_IGNORE);
  });
  SAME(comm, "Request_get_status", {
    MPI_Request q;
    int done = 0;
    MPI_Iallreduce(s, r, 500, D, MPI_SUM, comm, &q);
    while (!done) MPI_Request_get_status(q, &done, MPI_STATUS_IGNORE);
    MPI_Allreduce(r, s, 500, D, MPI_MAX, comm); /* the data is there, */
    MPI_Bcast(r, 500, D, 0, comm);              /* and is not brought again, */
    MPI_Wait(&q, MPI_STATUS_IGNORE);            /* here */
  });
}

#if MPI_VERSION >= 4
static void large_counts(MPI_Comm comm) {
  MPI_Count many[8];
  for (int i = 0; i < 8; ++i) many[i] = counts[i];
  MPI_Aint far[8];
  for (int i = 0; i < 8; ++i) far[i] = starts[i];
  SAME(comm, "Allreduce_c", MPI_Allreduce_c(s, r, N, D, MPI_SUM, comm));
  SAME(comm, "Gatherv_c", MPI_Gatherv_c(s, counts[rank], D, r, many, far, D, 0, comm));
  SAME(comm, "Iallgatherv_c", WAIT(MPI_Iallgatherv_c(s, counts[rank], D, r, many, far, D, comm, &q)));
  SAME(comm, "Ireduce_scatter_c", WAIT(MPI_Ireduce_scatter_c(s, r, many, D, MPI_SUM, comm, &q)));
  SAME(comm, "Alltoallw_c", {
    MPI_Count own[8];
    for (int i = 0; i < 8; ++i) own[i] = same[i];
    MPI_Alltoallw_c(s, many, wide, types, r, own, wide, types, comm);
  });
}
#endif

int main(int argc, char** argv) {
  MPI_Comm line, star;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  make_pairs();
  make_blocks();
  make_topologies(&line, &star);
  collectives(MPI_COMM_WORLD, 0);
  collectives(MPI_COMM_WORLD, ranks - 1);
  neighbours(line);
  neighbours(star);
  between_groups();
  together(MPI_COMM_WORLD);
#if MPI_VERSION >= 4
  large_counts(MPI_COMM_WORLD);
#endif
  return end_of_pairs("all collectives the same");
}
