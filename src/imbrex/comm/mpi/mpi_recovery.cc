#include "imbrex/comm/mpi/mpi_recovery.h"

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "imbrex/comm/mpi/mpi_job.h"

namespace imbrex {

#if defined(OMPI_HAVE_MPI_EXT_FTMPI)

bool mpi_has_recovery() { return true; }

std::string why_no_mpi_recovery() {
  const char* const asked = std::getenv("OMPI_MCA_mpi_ft_enable");
  if (asked != nullptr && (std::strcmp(asked, "1") == 0 || std::strcmp(asked, "true") == 0)) return "";
  return "it was not started by mpirun --with-ft ulfm";
}

bool is_lost_rank(int code) {
  int kind = MPI_SUCCESS;
  if (code == MPI_SUCCESS || MPI_Error_class(code, &kind) != MPI_SUCCESS) return false;
  return kind == MPIX_ERR_PROC_FAILED || kind == MPIX_ERR_PROC_FAILED_PENDING || kind == MPIX_ERR_REVOKED;
}

void mpi_revoke(MPI_Comm comm) {
  if (comm != MPI_COMM_NULL) MPIX_Comm_revoke(comm);
}

// An error says that ranks were lost of which not all had known; what is agreed on holds all the same.
int mpi_agree(MPI_Comm comm, int bits, bool waits_long) {
  MPI_Request agreeing = MPI_REQUEST_NULL;
  if (MPIX_Comm_iagree(comm, &bits, &agreeing) != MPI_SUCCESS && agreeing == MPI_REQUEST_NULL) {
    MPIX_Comm_agree(comm, &bits);
    return bits;
  }
  for (int is_over = 0; is_over == 0;) {
    if (MPI_Test(&agreeing, &is_over, MPI_STATUS_IGNORE) != MPI_SUCCESS) break;
    if (is_over == 0 && waits_long) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return bits;
}

MPI_Comm mpi_shrink(MPI_Comm comm, int me) {
  MPI_Comm left = MPI_COMM_NULL;
  mpi_check(MPIX_Comm_shrink(comm, &left), "MPIX_Comm_shrink", me);
  return left;
}

#else

bool mpi_has_recovery() { return false; }
std::string why_no_mpi_recovery() { return "this build's MPI has no ULFM, as Open MPI 5 has"; }
bool is_lost_rank(int) { return false; }
void mpi_revoke(MPI_Comm) {}
int mpi_agree(MPI_Comm, int bits, bool) { return bits; }

MPI_Comm mpi_shrink(MPI_Comm comm, int me) {
  MPI_Comm left = MPI_COMM_NULL;
  mpi_check(MPI_Comm_dup(comm, &left), "MPI_Comm_dup", me);
  return left;
}

#endif

}  // namespace imbrex
