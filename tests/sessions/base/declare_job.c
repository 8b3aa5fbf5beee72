/* Declarations by info: how they are inherited, and what contradicts them. Usage: declare_job CASE */
#include <mpi.h>
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
  if (strcmp(what, "sessions") == 0) result = sessions();
  MPI_Finalize();
  return result;
}
