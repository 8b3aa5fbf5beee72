/* What is made of a declared communicator with processes of other worlds, or by a port, inherits the declaration at this side.
   Usage: joined_job spawn PROGRAM WORD... | joined_job connect. 2 ranks; PROGRAM is started with the words and "child" behind them. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "sessions/driver/fake_cuda.h"
#include <imbrex/sessions.h>

static int rank, failures;
static char a[64], b[64];

static MPI_Comm declared_copy(MPI_Comm comm) {
  MPI_Info hosts;
  MPI_Comm made;
  MPI_Info_create(&hosts);
  MPI_Info_set(hosts, "mpi_communication_pattern", "MPI_CPU_TO_CPU");
  MPI_Comm_dup_with_info(comm, hosts, &made);
  MPI_Info_free(&hosts);
  return made;
}

static void expect(MPI_Comm comm, const char* pattern, const char* what) {
  if (strcmp(imbrex_session_declared(comm), pattern) == 0) return;
  fprintf(stderr, "rank %d: %s: '%s' is declared, not '%s'\n", rank, what, imbrex_session_declared(comm), pattern);
  ++failures;
}

/* Ten messages each way, with rank 0 of the other group. */
static void talk(MPI_Comm other) {
  for (int i = 0; i < 10; ++i)
    MPI_Sendrecv(a, 64, MPI_BYTE, 0, 0, b, 64, MPI_BYTE, 0, 0, other, MPI_STATUS_IGNORE);
}

static void talk_as_one(MPI_Comm merged) {
  int one = 1, sum = 0, size = 0;
  MPI_Comm_size(merged, &size);
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, merged);
  if (sum != size) ++failures;
}

/* The child's world was told nothing. */
static int child(MPI_Comm parent) {
  MPI_Comm merged;
  expect(parent, "", "the child's communicator with its parents");
  talk(parent);
  MPI_Intercomm_merge(parent, 1, &merged);
  talk_as_one(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return failures != 0;
}

static void spawn(char* program, char** words) {
  char* commands[] = {program};
  char** all_words[] = {words};
  const int one[] = {1};
  MPI_Info infos[] = {MPI_INFO_NULL};
  for (int several = 0; several < 2; ++several) {
    MPI_Comm from = declared_copy(MPI_COMM_WORLD), children, merged;
    if (several) MPI_Comm_spawn_multiple(1, commands, all_words, one, infos, 0, from, &children, MPI_ERRCODES_IGNORE);
    if (!several) MPI_Comm_spawn(program, words, 1, MPI_INFO_NULL, 0, from, &children, MPI_ERRCODES_IGNORE);
    expect(children, "MPI_CPU_TO_CPU", several ? "children by MPI_Comm_spawn_multiple" : "children by MPI_Comm_spawn");
    if (rank == 0) talk(children);
    MPI_Intercomm_merge(children, 0, &merged);
    expect(merged, "MPI_CPU_TO_CPU", "parents and children as one");
    talk_as_one(merged);
    MPI_Comm_free(&merged);
    MPI_Comm_disconnect(&children);
    MPI_Comm_free(&from);
  }
}

/* Some MPIs, or their networks, know no other processes than those that were started together. */
static int has_ports(void) {
  char port[MPI_MAX_PORT_NAME];
  int result;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  result = MPI_Open_port(MPI_INFO_NULL, port);
  if (result == MPI_SUCCESS) MPI_Close_port(port);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  return result == MPI_SUCCESS;
}

/* Each rank is a group of its own; only that of rank 0 was told. */
static void connect_by_port(void) {
  char port[MPI_MAX_PORT_NAME] = "";
  MPI_Comm own = rank == 0 ? declared_copy(MPI_COMM_SELF) : MPI_COMM_SELF, other;
  if (rank == 0) MPI_Open_port(MPI_INFO_NULL, port);
  MPI_Bcast(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank == 0) MPI_Comm_accept(port, MPI_INFO_NULL, 0, own, &other);
  if (rank == 1) MPI_Comm_connect(port, MPI_INFO_NULL, 0, own, &other);
  expect(other, rank == 0 ? "MPI_CPU_TO_CPU" : "", "who accepted, and who connected");
  talk(other);
  MPI_Comm_disconnect(&other);
  if (rank == 0) MPI_Comm_free(&own);
  own = rank == 1 ? declared_copy(MPI_COMM_SELF) : MPI_COMM_SELF;
  if (rank == 0) MPI_Comm_accept(port, MPI_INFO_NULL, 0, own, &other);
  if (rank == 1) MPI_Comm_connect(port, MPI_INFO_NULL, 0, own, &other);
  expect(other, rank == 1 ? "MPI_CPU_TO_CPU" : "", "who connected, and who accepted");
  talk(other);
  MPI_Comm_disconnect(&other);
  if (rank == 1) MPI_Comm_free(&own);
  if (rank == 0) MPI_Close_port(port);
}

int main(int argc, char** argv) {
  MPI_Comm parent;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cuInit(0);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) return child(parent);
  if (!has_ports()) {
    if (rank == 0) printf("SKIPPED: this MPI opens no ports here, by which processes meet\n");
    MPI_Finalize();
    return 77;
  }
  if (argc > 2 && strcmp(argv[1], "spawn") == 0) spawn(argv[2], argv + 3);
  if (argc == 2 && strcmp(argv[1], "connect") == 0) connect_by_port();
  MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%s\n", failures == 0 ? "all inherited" : "failed");
  MPI_Finalize();
  return failures != 0;
}
