/* How types are taken apart: all ways to make them, and types drawn at random.
   Usage: staged_types_job all | PART (see main). 2 ranks. */
#include "staged_pairs.h"

#define D MPI_DOUBLE
#define W MPI_COMM_WORLD
#define I MPI_STATUS_IGNORE

static int peer;

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

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(W, &rank);
  MPI_Comm_size(W, &ranks);
  peer = 1 - rank;
  make_pairs();
  const char* part = argv[argc - 1];
  const int all = strcmp(part, "all") == 0;
  if (all || strcmp(part, "types") == 0) kinds_of_types();
  if (all || strcmp(part, "drawn") == 0) drawn_types();
  return end_of_pairs("all types the same");
}
