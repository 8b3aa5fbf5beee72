#include "base/services.h"

namespace imbrex::sessions::IX_MPI {

services mpi;

const char* start_services(void* (*find)(const char* symbol)) {
#define IX_SERVICE(name)                                                \
  mpi.name = reinterpret_cast<decltype(mpi.name)>(find("PMPI_" #name)); \
  if (mpi.name == nullptr) return "PMPI_" #name;
  IX_SERVICES(IX_SERVICE)
#undef IX_SERVICE
#define IX_SERVICE(name) mpi.name = reinterpret_cast<decltype(mpi.name)>(find("PMPI_" #name));
  IX_LATER_SERVICES(IX_SERVICE)
#undef IX_SERVICE
#ifdef OPEN_MPI
  // Handles that this MPI has as variables.
  mpi.comm_world = static_cast<MPI_Comm>(find("ompi_mpi_comm_world"));
  mpi.comm_null = static_cast<MPI_Comm>(find("ompi_mpi_comm_null"));
  mpi.byte = static_cast<MPI_Datatype>(find("ompi_mpi_byte"));
  mpi.info_null = static_cast<MPI_Info>(find("ompi_mpi_info_null"));
  mpi.request_null = static_cast<MPI_Request>(find("ompi_request_null"));
  mpi.no_op = static_cast<MPI_Op>(find("ompi_mpi_op_no_op"));
  if (mpi.comm_world == nullptr || mpi.comm_null == nullptr || mpi.byte == nullptr || mpi.info_null == nullptr ||
      mpi.request_null == nullptr || mpi.no_op == nullptr) {
    return "ompi_mpi_comm_world";
  }
#else
  mpi.comm_world = MPI_COMM_WORLD;
  mpi.comm_null = MPI_COMM_NULL;
  mpi.byte = MPI_BYTE;
  mpi.info_null = MPI_INFO_NULL;
  mpi.request_null = MPI_REQUEST_NULL;
  mpi.no_op = MPI_NO_OP;
#endif
  return nullptr;
}

}  // namespace imbrex::sessions::IX_MPI
