#include "micro_routines.h"

#include <mpi.h>

/* Sums of floats where the size allows it, as the Intel MPI benchmarks do; of bytes otherwise. */
static MPI_Datatype summed_type(long bytes) { return bytes % 4 == 0 ? MPI_FLOAT : MPI_UNSIGNED_CHAR; }
static int summed_count(long bytes) { return (int)(bytes % 4 == 0 ? bytes / 4 : bytes); }

static void alltoall(const struct job* j) {
  before_send(&j->send);
  MPI_Alltoall(j->send.given, (int)j->bytes, MPI_BYTE, j->receive.given, (int)j->bytes, MPI_BYTE, MPI_COMM_WORLD);
  after_receive(&j->receive);
}
static void allreduce(const struct job* j) {
  before_send(&j->send);
  MPI_Allreduce(j->send.given, j->receive.given, summed_count(j->bytes), summed_type(j->bytes), MPI_SUM,
                MPI_COMM_WORLD);
  after_receive(&j->receive);
}
static void allgather(const struct job* j) {
  before_send(&j->send);
  MPI_Allgather(j->send.given, (int)j->bytes, MPI_BYTE, j->receive.given, (int)j->bytes, MPI_BYTE, MPI_COMM_WORLD);
  after_receive(&j->receive);
}
static void bcast(const struct job* j) {
  if (j->rank == 0) before_send(&j->receive);
  MPI_Bcast(j->receive.given, (int)j->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (j->rank != 0) after_receive(&j->receive);
}
static void gather(const struct job* j) {
  before_send(&j->send);
  MPI_Gather(j->send.given, (int)j->bytes, MPI_BYTE, j->receive.given, (int)j->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (j->rank == 0) after_receive(&j->receive);
}
static void reduce(const struct job* j) {
  before_send(&j->send);
  MPI_Reduce(j->send.given, j->receive.given, summed_count(j->bytes), summed_type(j->bytes), MPI_SUM, 0,
             MPI_COMM_WORLD);
  if (j->rank == 0) after_receive(&j->receive);
}
static void scatter(const struct job* j) {
  if (j->rank == 0) before_send(&j->send);
  MPI_Scatter(j->send.given, (int)j->bytes, MPI_BYTE, j->receive.given, (int)j->bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
  after_receive(&j->receive);
}
static void ping_ping(const struct job* j) {
  MPI_Request request;
  before_send(&j->send);
  MPI_Isend(j->send.given, (int)j->bytes, MPI_BYTE, 1 - j->rank, 0, MPI_COMM_WORLD, &request);
  MPI_Recv(j->receive.given, (int)j->bytes, MPI_BYTE, 1 - j->rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  after_receive(&j->receive);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
static void pong(const struct job* j) {
  before_send(&j->send);
  MPI_Send(j->send.given, (int)j->bytes, MPI_BYTE, 1 - j->rank, 0, MPI_COMM_WORLD);
}
static void ping_pong(const struct job* j) {
  if (j->rank == 0) pong(j);
  MPI_Recv(j->receive.given, (int)j->bytes, MPI_BYTE, 1 - j->rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  after_receive(&j->receive);
  if (j->rank == 1) pong(j);
}

/* Byte i of what rank `from` gives to rank `to` (0 where all get the same). */
static unsigned char value(int from, int to, long i) {
  return (unsigned char)(i * 7 + i / 251 + from * 31 + to * 17 + 1);
}

/* What is summed: small whole numbers, so that the order of a sum of floats does not matter. */
static unsigned summand(int from, long i) { return (unsigned)((i + 3L * from) % 8); }

static void fill_per_rank(const struct job* j) {
  for (int to = 0; to < j->num_ranks; ++to) {
    for (long i = 0; i < j->bytes; ++i) j->send.contents[to * j->bytes + i] = value(j->rank, to, i);
  }
}
static void fill_one(const struct job* j) {
  for (long i = 0; i < j->bytes; ++i) j->send.contents[i] = value(j->rank, 0, i);
}
static void fill_root(const struct job* j) {
  for (long i = 0; i < j->bytes && j->rank == 0; ++i) j->receive.contents[i] = value(0, 0, i);
}
static void fill_summands(const struct job* j) {
  if (summed_type(j->bytes) == MPI_FLOAT) {
    for (long i = 0; i < j->bytes / 4; ++i) ((float*)(void*)j->send.contents)[i] = (float)summand(j->rank, i);
  } else {
    for (long i = 0; i < j->bytes; ++i) j->send.contents[i] = (unsigned char)summand(j->rank, i);
  }
}

static long block_wrong(const struct job* j, const unsigned char* block, int from, int to) {
  long wrong = 0;
  for (long i = 0; i < j->bytes; ++i) wrong += block[i] != value(from, to, i);
  return wrong;
}
static long wrong_from_all(const struct job* j, int to) {
  long wrong = 0;
  for (int from = 0; from < j->num_ranks; ++from) wrong += block_wrong(j, j->receive.contents + from * j->bytes, from, to);
  return wrong;
}
static long alltoall_wrong(const struct job* j) { return wrong_from_all(j, j->rank); }
static long allgather_wrong(const struct job* j) { return wrong_from_all(j, 0); }
static long gather_wrong(const struct job* j) { return j->rank == 0 ? wrong_from_all(j, 0) : 0; }
static long bcast_wrong(const struct job* j) { return block_wrong(j, j->receive.contents, 0, 0); }
static long scatter_wrong(const struct job* j) { return block_wrong(j, j->receive.contents, 0, j->rank); }
static long pair_wrong(const struct job* j) { return block_wrong(j, j->receive.contents, 1 - j->rank, 0); }
static long allreduce_wrong(const struct job* j) {
  const int floats = summed_type(j->bytes) == MPI_FLOAT;
  long wrong = 0;
  for (long i = 0; i < summed_count(j->bytes); ++i) {
    unsigned sum = 0;
    for (int from = 0; from < j->num_ranks; ++from) sum += summand(from, i);
    wrong += floats ? ((const float*)(const void*)j->receive.contents)[i] != (float)sum : j->receive.contents[i] != (unsigned char)sum;
  }
  return wrong;
}
static long reduce_wrong(const struct job* j) { return j->rank == 0 ? allreduce_wrong(j) : 0; }

const struct benchmark benchmarks[NUM_BENCHMARKS] = {
    {"Alltoall", &alltoall, 0, 0, &fill_per_rank, &alltoall_wrong, 0, 1},
    {"Allreduce", &allreduce, 1, 1, &fill_summands, &allreduce_wrong, 0, 1},
    {"Allgather", &allgather, 1, 0, &fill_one, &allgather_wrong, 0, 1},
    {"Bcast", &bcast, 1, 1, &fill_root, &bcast_wrong, 0, 1},
    {"Gather", &gather, 1, 0, &fill_one, &gather_wrong, 0, 1},
    {"Reduce", &reduce, 1, 1, &fill_summands, &reduce_wrong, 0, 1},
    {"Scatter", &scatter, 0, 1, &fill_per_rank, &scatter_wrong, 0, 1},
    {"PingPing", &ping_ping, 1, 1, &fill_one, &pair_wrong, 1, 1},
    {"PingPong", &ping_pong, 1, 1, &fill_one, &pair_wrong, 1, 2},
};
