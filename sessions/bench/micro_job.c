/* The paper's nine routines, measured in the way of the Intel MPI benchmarks. `sessions_micro_<mpi> --help` lists the
   options; sessions/bench/micro.py runs it with and without libimbrex_sessions.so and compares.

   For each routine and size: warm-up, a barrier, repetitions (fewer for large messages), the mean time of each rank,
   and the least, mean and greatest of those over ranks; one line of JSON at rank 0. "bytes" is what one rank gives to
   one other, so that a rank of Alltoall sends that many times the ranks. PingPing and PingPong go between ranks 0 and 1
   while the others wait; the time of PingPong is that of one way. After the repetitions one more call with known
   contents is compared value by value. Exit code 1 when data was wrong, 2 for a wrong command line. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "micro_options.h"
#include "micro_routines.h"

#define VOLUME_LIMIT (40L << 20) /* bytes that a measurement moves per pair, as long as that leaves LEAST_REPEATS */
#define LEAST_REPEATS 5

static long repeats_for(const struct options* o, long bytes) {
  const long fitting = bytes == 0 ? o->repeats : VOLUME_LIMIT / bytes;
  const long least = o->repeats < LEAST_REPEATS ? o->repeats : LEAST_REPEATS;
  return fitting >= o->repeats ? o->repeats : fitting < least ? least : fitting;
}

static double mean_seconds(const struct benchmark* b, const struct job* j, const struct options* o, long repeats) {
  const int active = !b->pair || j->rank < 2;
  double total = 0;
  for (long i = 0; i < repeats / 10 + 1 && active; ++i) b->call(j);
  MPI_Barrier(MPI_COMM_WORLD);
  if (o->synchronized) {
    for (long i = 0; i < repeats; ++i) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      if (active) b->call(j);
      total += MPI_Wtime() - begin;
    }
  } else {
    const double begin = MPI_Wtime();
    for (long i = 0; i < repeats && active; ++i) b->call(j);
    total = MPI_Wtime() - begin;
  }
  return total / ((double)repeats * b->ways);
}

/* Values that were wrong at this rank in one call with known contents. */
static long wrong_values(const struct benchmark* b, const struct job* j) {
  if (b->pair && j->rank > 1) return 0;
  memset(j->receive.contents, 0, j->receive.bytes);
  b->fill(j);
  put_contents(&j->send);
  put_contents(&j->receive);
  b->call(j);
  get_contents(&j->receive);
  return b->num_wrong(j);
}

/* Gives the number of wrong values over all ranks, at rank 0. */
static double report(const struct benchmark* b, const struct job* j, long repeats, double seconds, long wrong) {
  const double own[2] = {seconds, (double)wrong};
  double* all = malloc(2 * sizeof(double) * (size_t)j->num_ranks);
  if (all == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Gather(own, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  double least = 0, greatest = 0, sum = 0, all_wrong = 0;
  const int num_timed = b->pair ? 2 : j->num_ranks;
  for (int i = 0; i < num_timed && j->rank == 0; ++i) {
    least = i == 0 || all[2 * i] < least ? all[2 * i] : least;
    greatest = all[2 * i] > greatest ? all[2 * i] : greatest;
    sum += all[2 * i];
    all_wrong += all[2 * i + 1];
  }
  if (j->rank == 0) {
    printf(
        "{\"routine\": \"%s\", \"bytes\": %ld, \"repeats\": %ld, \"min_us\": %.4f, \"mean_us\": %.4f, \"max_us\": "
        "%.4f, "
        "\"wrong_values\": %.0f}\n",
        b->name, j->bytes, repeats, least * 1e6, sum / num_timed * 1e6, greatest * 1e6, all_wrong);
    fflush(stdout);
  }
  free(all);
  return all_wrong;
}

static void make(struct buffer* b, int blocks, const struct job* j, enum memory_kind kind) {
  const size_t bytes = (size_t)(blocks == 1 ? 1 : j->num_ranks) * (size_t)j->bytes;
  if (make_buffer(b, kind, bytes)) return;
  fprintf(stderr, "sessions_micro: rank %d has no %zu bytes for a buffer: give smaller --sizes\n", j->rank, bytes);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static double measure(const struct benchmark* b, struct job* j, const struct options* o) {
  make(&j->send, b->send_blocks, j, o->memory);
  make(&j->receive, b->receive_blocks, j, o->memory);
  const long repeats = repeats_for(o, j->bytes);
  const double seconds = mean_seconds(b, j, o, repeats);
  const double wrong = report(b, j, repeats, seconds, wrong_values(b, j));
  free_buffer(&j->send);
  free_buffer(&j->receive);
  return wrong;
}

/* Every rank has to succeed: the complaint is that of the first one that does not. */
static void open_devices(struct options* o, const struct job* j) {
  MPI_Comm node;
  int rank_of_node, first_failed;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, j->rank, MPI_INFO_NULL, &node);
  MPI_Comm_rank(node, &rank_of_node);
  MPI_Comm_free(&node);
  const char* const why = open_device(rank_of_node);
  const int mine = why != NULL ? j->rank : j->num_ranks;
  MPI_Allreduce(&mine, &first_failed, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (first_failed == j->num_ranks) return;
  char text[256];
  snprintf(text, sizeof text, "--memory at rank %d: %s", first_failed, why != NULL ? why : "");
  MPI_Bcast(text, sizeof text, MPI_CHAR, first_failed, MPI_COMM_WORLD);
  snprintf(o->complaint, sizeof o->complaint, "%s", text);
}

/* The first line of what the MPI calls itself, without what JSON would have to escape. */
static void print_header(int num_ranks) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
  int length = 0, used = 0;
  MPI_Get_library_version(version, &length);
  for (int i = 0; i < length && version[i] != '\n' && version[i] != '\0'; ++i) {
    const char c = version[i];
    if (c == '\t') version[used++] = ' ';
    if (c >= ' ' && c != '"' && c != '\\') version[used++] = c;
  }
  version[used] = '\0';
  printf("{\"imbrex_micro\": 1, \"mpi\": \"%s\", \"ranks\": %d}\n", version, num_ranks);
}

int main(int argc, char** argv) {
  struct options o;
  struct job j;
  memset(&j, 0, sizeof j);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &j.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &j.num_ranks);
  read_options(&o, argc, argv);
  if (!o.help && j.num_ranks < 2) complain(&o, "ranks", "1", 1, "start it with at least 2, as mpirun -n 2");
  if (!o.help && o.complaint[0] == '\0' && o.memory != in_host_memory) open_devices(&o, &j);
  int code = 0;
  if (o.complaint[0] != '\0') {
    if (j.rank == 0) fprintf(stderr, "sessions_micro: %s\n", o.complaint);
    code = 2;
  } else if (o.help) {
    if (j.rank == 0) print_help();
  } else {
    double wrong = 0;
    if (j.rank == 0) print_header(j.num_ranks);
    for (int i = 0; i < NUM_BENCHMARKS; ++i) {
      for (int s = 0; s < o.num_sizes && o.chosen[i]; ++s) {
        j.bytes = o.sizes[s];
        wrong += measure(&benchmarks[i], &j, &o);
      }
    }
    MPI_Bcast(&wrong, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (wrong > 0 && j.rank == 0) fprintf(stderr, "sessions_micro: %.0f received values were wrong\n", wrong);
    code = wrong > 0;
  }
  MPI_Finalize();
  return code;
}
