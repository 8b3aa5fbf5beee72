#include "imbrex/runtime/make_transport.h"

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#if IMBREX_HAVE_MPI
#include "imbrex/comm/mpi/mpi_transport.h"
#endif
#if IMBREX_HAVE_UCX
#include "imbrex/comm/ucx/ucx_transport.h"
#endif

namespace imbrex::detail {

transport_choice choose_transport(const runtime_options& o) {
  if (o.transport == "loopback") return o.ranks > 1 ? transport_choice::loopback : transport_choice::none;
  if (o.transport == "mpi") {
#if IMBREX_HAVE_MPI
    return transport_choice::mpi;
#else
    throw not_built(
        "this build has no MPI transport: install libopenmpi-dev and openmpi-bin (or another MPI), then build again");
#endif
  }
  if (o.transport == "ucx") {
#if IMBREX_HAVE_UCX
    return transport_choice::ucx;
#else
    throw not_built(
        "this build has no UCX transport: install libucx-dev, and libopenmpi-dev and openmpi-bin (or another MPI), "
        "which start the ranks; then build again");
#endif
  }
  if (o.ranks > 1) return transport_choice::loopback;
#if IMBREX_HAVE_MPI
  if (mpi_transport::launched_by_mpi()) return transport_choice::mpi;
#endif
  return transport_choice::none;
}

std::unique_ptr<transport> make_transport(transport_choice choice, const runtime_options& options) {
  static_cast<void>(options);
#if IMBREX_HAVE_MPI
  if (choice == transport_choice::mpi) return std::make_unique<mpi_transport>();
#endif
#if IMBREX_HAVE_UCX
  if (choice == transport_choice::ucx) return std::make_unique<ucx_transport>(ucx_options{options.heartbeat_s});
#endif
  static_cast<void>(choice);
  return nullptr;
}

}  // namespace imbrex::detail
