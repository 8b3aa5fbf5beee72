// What the binding itself needs of the MPI. Compiled once per mpi.h, in a namespace of its own; nothing is linked: the
// routines are looked up when the program's MPI is known, so that the library loads into any program.
#pragma once

// mpi.h of MPICH would otherwise bring the C++ bindings of old.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>

#if MPI_VERSION < 4 && defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
using MPI_Session = struct ompi_instance_t*;  // of Open MPI 5, whose handles are those of Open MPI 4
#endif

namespace imbrex::sessions::IX_MPI {

#define IX_SERVICES(S)          \
  S(Type_size)                  \
  S(Comm_size)                  \
  S(Comm_rank)                  \
  S(Comm_remote_size)           \
  S(Comm_get_name)              \
  S(Comm_get_parent)            \
  S(Comm_test_inter)            \
  S(Topo_test)                  \
  S(Cartdim_get)                \
  S(Graph_neighbors_count)      \
  S(Dist_graph_neighbors_count) \
  S(Ibarrier)                   \
  S(Test)                       \
  S(Gather)                     \
  S(Gatherv)                    \
  S(Initialized)                \
  S(Finalized)                  \
  S(Get_processor_name)         \
  S(Info_get)                   \
  S(Get_elements_x)             \
  S(Test_cancelled)             \
  S(Type_get_extent)            \
  S(Type_get_true_extent)       \
  S(Type_size_x)                \
  S(Type_get_envelope)          \
  S(Type_get_contents)          \
  S(Type_commit)                \
  S(Type_free)                  \
  S(Unpack)

/// Null where the program's MPI does not have them.
#if MPI_VERSION >= 4
#define IX_LATER_SERVICES(S) S(Type_get_envelope_c) S(Type_get_contents_c)
#else
#define IX_LATER_SERVICES(S)
#endif

struct services {
#define IX_SERVICE(name) decltype(&PMPI_##name) name;
  IX_SERVICES(IX_SERVICE)
  IX_LATER_SERVICES(IX_SERVICE)
#undef IX_SERVICE
  MPI_Comm comm_world;
  MPI_Comm comm_null;
  MPI_Datatype byte;
  MPI_Info info_null;
  MPI_Op no_op;
  MPI_Request request_null;
};

/// Of the program's MPI; set by start_services().
extern services mpi __attribute__((visibility("hidden")));

/// Null on success, else the name of what this MPI lacks.
const char* start_services(void* (*find)(const char* symbol));

/// The value of a handle, for tables.
inline std::uintptr_t value_of(int handle) { return static_cast<std::uint32_t>(handle); }
inline std::uintptr_t value_of(const void* handle) { return reinterpret_cast<std::uintptr_t>(handle); }

}  // namespace imbrex::sessions::IX_MPI
