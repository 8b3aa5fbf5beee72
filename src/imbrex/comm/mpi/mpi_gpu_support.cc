#include "imbrex/comm/mpi/mpi_gpu_support.h"

#include <dlfcn.h>
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <string>

#include "imbrex/base/build_config.h"
#if IMBREX_HAVE_UCX
#include <ucp/api/ucp.h>
#endif

namespace imbrex {

namespace {

bool says_so_itself() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)
  return MPIX_Query_cuda_support() == 1;
#else
  return false;
#endif
}

/// The value of Open MPI's parameter `name`, or nothing.
std::string parameter(const char* name) {
  int provided = 0;
  if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS) return {};
  std::string value;
  int index = 0, count = 0;
  MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
  if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS &&
      MPI_T_cvar_handle_alloc(index, nullptr, &handle, &count) == MPI_SUCCESS) {
    std::string text(static_cast<std::size_t>(count) + 1, '\0');
    if (MPI_T_cvar_read(handle, text.data()) == MPI_SUCCESS) value = text.c_str();
    MPI_T_cvar_handle_free(&handle);
  }
  MPI_T_finalize();
  return value;
}

#if IMBREX_HAVE_UCX
/// Whether the UCX that is loaded knows memory of NVIDIA GPUs.
bool ucx_knows_gpus() {
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  ucp_context_h context = nullptr;
  if (ucp_init(&params, nullptr, &context) != UCS_OK) return false;
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  const bool asked = ucp_context_query(context, &attributes) == UCS_OK;
  ucp_cleanup(context);
  return asked && (attributes.memory_types & (std::uint64_t{1} << UCS_MEMORY_TYPE_CUDA)) != 0;
}
#else
bool ucx_knows_gpus() { return false; }
#endif

}  // namespace

bool mpi_takes_gpu_memory() {
  static const bool does = says_so_itself() || (parameter("pml") == "ucx" && ucx_knows_gpus());
  return does;
}

}  // namespace imbrex
