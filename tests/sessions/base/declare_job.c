/* Declarations by info: how they are inherited, and what contradicts them. Usage: declare_job CASE */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

#include "sessions/driver/fake_cuda.h"
#include <imbrex/sessions.h>

static int rank;
static char a[64], b[64];

static MPI_Info info_of(const char* key, const char* value) {
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, key, value);
  return info;
}

static void talk(MPI_Comm comm) {
  for (int i = 0; i < 10; ++i) {
    MPI_Sendrecv(a, 64, MPI_BYTE, 1 - rank, 0, b, 64, MPI_BYTE, 1 - rank, 0, comm, MPI_STATUS_IGNORE);
  }
}

/* Ten exchanges on each of eight communicators that are declared, each in its own way. */
static void inherit(void) {
  const int dims[] = {2}, periods[] = {1};
  MPI_Info hosts = info_of("mpi_communication_pattern", "MPI_CPU_TO_CPU");
  MPI_Info kinds = info_of("mpi_assert_memory_alloc_kinds", "system,cuda:host");
  MPI_Comm comms[8];
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Comm_set_info(comms[0], hosts);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, hosts, &comms[1]);
  MPI_Comm_dup(comms[0], &comms[2]);
  MPI_Comm_split(comms[0], 0, rank, &comms[3]);
  MPI_Cart_create(comms[0], 1, dims, periods, 0, &comms[4]);
  MPI_Comm_split_type(comms[0], MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comms[5]);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, kinds, &comms[6]);
  MPI_Dist_graph_create_adjacent(comms[0], 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comms[7]);
  for (int i = 0; i < 8; ++i) talk(comms[i]);
  for (int i = 0; i < 8; ++i) {
    if (strcmp(imbrex_session_declared(comms[i]), "MPI_CPU_TO_CPU") != 0) printf("communicator %d is not declared\n", i);
    MPI_Comm_free(&comms[i]);
  }
  MPI_Info_free(&hosts);
  MPI_Info_free(&kinds);
  if (rank == 0) printf("all as declared\n");
}

/* Device memory where the host's was declared, and the other way round. */
static void wrong(const char* pattern, int device) {
  MPI_Info info = info_of("mpi_communication_pattern", pattern);
  device_pointer memory;
  MPI_Comm comm;
  use_device(0);
  cuMemAlloc_v2(&memory, 4096);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  if (rank == 0) MPI_Send(device ? (void*)memory : a, 8, MPI_BYTE, 1, 0, comm);
  if (rank == 1) MPI_Recv(b, 8, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
  MPI_Info_free(&info);
  MPI_Comm_free(&comm);
}

/* A mixture ends what was said before, also what was inherited. */
static void mixture(void) {
  MPI_Info hosts = info_of("mpi_communication_pattern", "MPI_CPU_TO_CPU");
  MPI_Info both = info_of("mpi_assert_memory_alloc_kinds", "system,cuda:device");
  MPI_Comm host_comm, child, grandchild;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, hosts, &host_comm);
  MPI_Comm_dup_with_info(host_comm, both, &child);
  MPI_Comm_dup(child, &grandchild);
  talk(grandchild);
  if (rank == 0) printf("'%s' '%s' '%s'", imbrex_session_declared(host_comm), imbrex_session_declared(child),
                        imbrex_session_declared(grandchild));
  MPI_Comm_set_info(host_comm, both);
  if (rank == 0) printf(" then '%s'", imbrex_session_declared(host_comm));
  MPI_Comm_set_info(host_comm, hosts);
  if (rank == 0) printf(" and '%s'\n", imbrex_session_declared(host_comm));
  MPI_Comm_free(&host_comm);
  MPI_Comm_free(&child);
  MPI_Comm_free(&grandchild);
  MPI_Info_free(&hosts);
  MPI_Info_free(&both);
}

/* The host's memory is declared; what is device memory has no bytes, or is not looked at by an MPI. */
static void nothing(void) {
  MPI_Info info = info_of("mpi_communication_pattern", "MPI_CPU_TO_CPU");
  device_pointer memory;
  MPI_Comm comm;
  MPI_Win win;
  int one = 1, before = 0;
  use_device(0);
  cuMemAlloc_v2(&memory, 4096);
  void* const there = (void*)memory;
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  MPI_Sendrecv(there, 0, MPI_BYTE, 1 - rank, 0, there, 0, MPI_BYTE, 1 - rank, 0, comm, MPI_STATUS_IGNORE);
  MPI_Bcast(there, 0, MPI_INT, 0, comm);
  MPI_Win_create(&one, sizeof one, sizeof one, MPI_INFO_NULL, comm, &win);
  MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, win);
  MPI_Fetch_and_op(there, &before, MPI_INT, 1 - rank, 0, MPI_NO_OP, win);
  MPI_Win_unlock(1 - rank, win);
  MPI_Win_free(&win);
  MPI_Comm_free(&comm);
  MPI_Info_free(&info);
  cuMemFree_v2(memory);
  if (rank == 1) printf("nothing there\n");
}

static jmp_buf back;
static void leaves(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  longjmp(back, 1);
}

/* An error handler that does not return to its MPI: what comes later is seen as before. */
static void left(void) {
  MPI_Errhandler handler;
  int sum = 0;
  MPI_Comm_create_errhandler(&leaves, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (setjmp(back) == 0) MPI_Send(a, 1, MPI_BYTE, 99, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 10; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Errhandler_free(&handler);
  if (rank == 0) printf("%d\n", sum);
}

/* Device memory, declared as such: this stock MPI must not touch it, so nothing is sent of it. */
static void devices(void) {
  MPI_Info info = info_of("mpi_communication_pattern", "MPI_GPU_TO_GPU");
  device_pointer memory;
  MPI_Comm comm;
  use_device(0);
  cuMemAlloc_v2(&memory, 4096);
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  for (int i = 0; i < 10; ++i) {
    MPI_Sendrecv((void*)memory, 0, MPI_BYTE, 1 - rank, 0, (void*)(memory + 64), 0, MPI_BYTE, 1 - rank, 0, comm,
                 MPI_STATUS_IGNORE);
  }
  cuMemFree_v2(memory);
  MPI_Info_free(&info);
  MPI_Comm_free(&comm);
  if (rank == 0) printf("devices as declared\n");
}

static void bad(void) {
  MPI_Info info = info_of("mpi_communication_pattern", "MPI_CPU_TO_TPU");
  MPI_Comm comms[3];
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comms[0]);
  MPI_Info_delete(info, "mpi_communication_pattern");
  MPI_Info_set(info, "mpi_memory_alloc_kinds", "system,cuda:cache");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comms[1]);
  MPI_Info_set(info, "mpi_communication_pattern", "MPI_GPU_TO_GPU");
  MPI_Info_set(info, "mpi_memory_alloc_kinds", "system");
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comms[2]);
  for (int i = 0; i < 3; ++i) talk(comms[i]);
  for (int i = 0; i < 3; ++i) MPI_Comm_free(&comms[i]);
  MPI_Info_free(&info);
  if (rank == 0) printf("went on\n");
}

#if IMBREX_SESSIONS_IN_MPI
static MPI_Comm comm_of(MPI_Session session, const char* tag) {
  MPI_Group group;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&group);
  return comm;
}

/* Two sessions: messages of the host go to the host's, and in the mixed one from the host to the device. */
static int sessions(void) {
  MPI_Info hosts = info_of("mpi_communication_pattern", "MPI_CPU_TO_CPU");
  MPI_Info devices = info_of("mpi_communication_pattern", "MPI_GPU_TO_GPU");
  MPI_Session host_session, device_session;
  MPI_Comm host_comm, device_comm, half;
  double one = 1, sum = 0;
  MPI_Session_init(hosts, MPI_ERRORS_ARE_FATAL, &host_session);
  MPI_Session_init(devices, MPI_ERRORS_ARE_FATAL, &device_session);
  host_comm = comm_of(host_session, "hosts");
  device_comm = comm_of(device_session, "devices");
  MPI_Comm_dup(host_comm, &half);
  if (strcmp(imbrex_session_declared(half), "MPI_CPU_TO_CPU") != 0) return 2;
  if (strcmp(imbrex_session_declared(device_comm), "MPI_GPU_TO_GPU") != 0) return 3;
  if (strcmp(imbrex_session_declared(MPI_COMM_WORLD), "") != 0) return 4;
  talk(host_comm);
  talk(half);
  MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, host_comm);
  MPI_Barrier(device_comm);
  MPI_Comm_free(&half);
  MPI_Comm_free(&host_comm);
  MPI_Comm_free(&device_comm);
  MPI_Session_finalize(&host_session);
  MPI_Session_finalize(&device_session);
  MPI_Info_free(&hosts);
  MPI_Info_free(&devices);
  if (rank == 0) printf("two sessions as declared\n");
  return sum == 2 ? 0 : 1;
}

/* Without MPI_Init: what a session declares holds against what its communicators are told. */
static int alone(void) {
  MPI_Info hosts = info_of("mpi_communication_pattern", "MPI_CPU_TO_CPU");
  MPI_Info devices = info_of("mpi_communication_pattern", "MPI_GPU_TO_GPU");
  MPI_Session session;
  MPI_Comm comm, other;
  MPI_Session_init(hosts, MPI_ERRORS_ARE_FATAL, &session);
  comm = comm_of(session, "alone");
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_dup_with_info(comm, devices, &other);
  if (strcmp(imbrex_session_declared(other), "MPI_CPU_TO_CPU") != 0) return 2;
  talk(other);
  MPI_Comm_free(&other);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  MPI_Info_free(&hosts);
  MPI_Info_free(&devices);
  if (rank == 0) printf("alone\n");
  return 0;
}
#else
static int alone(void) {
  printf("SKIPPED: this mpi.h has no sessions\n");
  return 77;
}
static int sessions(void) {
  if (rank == 0) printf("SKIPPED: this mpi.h has no sessions\n");
  return 77;
}
#endif

int main(int argc, char** argv) {
  const char* what = argc == 2 ? argv[1] : "";
  int result = 0;
  if (strcmp(what, "alone") == 0) return alone();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  cuInit(0);
  if (strcmp(what, "inherit") == 0) inherit();
  if (strcmp(what, "wrong_buffer") == 0) wrong("MPI_CPU_TO_CPU", 1);
  if (strcmp(what, "wrong_host") == 0) wrong("MPI_GPU_TO_GPU", 0);
  if (strcmp(what, "bad") == 0) bad();
  if (strcmp(what, "devices") == 0) devices();
  if (strcmp(what, "mixture") == 0) mixture();
  if (strcmp(what, "nothing") == 0) nothing();
  if (strcmp(what, "left") == 0) left();
  if (strcmp(what, "sessions") == 0) result = sessions();
  MPI_Finalize();
  return result;
}
