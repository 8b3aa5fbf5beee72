// Makes a stock MPI ask the driver about buffers, as a CUDA-aware one does: preloaded after libimbrex_sessions.so, it
// stands between that and the MPI. AWARE_WAY says how it gets at the driver: dlsym, proc (cuGetProcAddress) or link.
// With AWARE_UNLOADS=1 it unloads a module first, after which nobody can know all memory.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <dlfcn.h>
#include <mpi.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "fake_cuda.h"

namespace {

using get_attribute = int(void*, int, device_pointer);

get_attribute* find_query() {
  const char* way = std::getenv("AWARE_WAY");
  if (way == nullptr || std::strcmp(way, "link") == 0) return &cuPointerGetAttribute;
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (std::strcmp(way, "dlsym") == 0) return reinterpret_cast<get_attribute*>(dlsym(driver, "cuPointerGetAttribute"));
  using get_proc = int(const char*, void**, int, std::uint64_t, int*);
  auto* proc = reinterpret_cast<get_proc*>(dlsym(driver, "cuGetProcAddress_v2"));
  void* found = nullptr;
  proc("cuPointerGetAttribute", &found, 12000, 0, nullptr);
  return reinterpret_cast<get_attribute*>(found);
}

void ask(const void* buffer) {
  static get_attribute* const query = find_query();
  static const bool unloads = std::getenv("AWARE_UNLOADS") != nullptr;
  static const int unloaded = unloads ? cuModuleUnload(nullptr) : 0;
  static_cast<void>(unloaded);
  unsigned memory_type = 0;
  query(&memory_type, 2, reinterpret_cast<device_pointer>(buffer));
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

int PMPI_Send(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  static auto* const real = next<decltype(PMPI_Send)>("PMPI_Send");
  ask(buf);
  return real(buf, count, type, dest, tag, comm);
}

int PMPI_Recv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  static auto* const real = next<decltype(PMPI_Recv)>("PMPI_Recv");
  ask(buf);
  return real(buf, count, type, source, tag, comm, status);
}

int PMPI_Isend(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  static auto* const real = next<decltype(PMPI_Isend)>("PMPI_Isend");
  ask(buf);
  return real(buf, count, type, dest, tag, comm, request);
}

int PMPI_Irecv(void* buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  static auto* const real = next<decltype(PMPI_Irecv)>("PMPI_Irecv");
  ask(buf);
  return real(buf, count, type, source, tag, comm, request);
}

int PMPI_Sendrecv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
                  int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status) {
  static auto* const real = next<decltype(PMPI_Sendrecv)>("PMPI_Sendrecv");
  ask(sendbuf);
  ask(recvbuf);
  return real(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status);
}
}
