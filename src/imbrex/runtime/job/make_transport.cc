#include "imbrex/runtime/job/make_transport.h"

#include <fmt/format.h>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#include "imbrex/base/log.h"
#include "imbrex/comm/rank_lost.h"
#if IMBREX_HAVE_MPI
#include "imbrex/comm/mpi/mpi_recovery.h"
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
  if (choice == transport_choice::mpi)
    return std::make_unique<mpi_transport>(options.checkpoint.in_memory(), options.checkpoint.spare_ranks);
#endif
#if IMBREX_HAVE_UCX
  if (choice == transport_choice::ucx) return std::make_unique<ucx_transport>(ucx_options{options.heartbeat_s});
#endif
  static_cast<void>(choice);
  return nullptr;
}

void check_can_go_on(const transport* t, int num_spares) {
  if (t == nullptr) {
    if (num_spares > 0) throw config_error(fmt::format("--imbrex-spare-ranks={}: there is one process", num_spares));
    log_warning(
        "--imbrex-checkpoint-memory: there is one rank, and nobody to keep its checkpoints: start more, or use "
        "--imbrex-checkpoint=FOLDER");
    return;
  }
  std::string why = fmt::format("the transport {} cannot go on without one", t->name());
#if IMBREX_HAVE_MPI
  if (dynamic_cast<const mpi_transport*>(t) != nullptr) why = why_no_mpi_recovery();
#endif
  if (why.empty() || (t->rank() != 0 && num_spares == 0)) return;
  if (num_spares > 0) throw config_error(fmt::format("--imbrex-spare-ranks={}: {}", num_spares, why));
  log_warning(fmt::format(
      "the job will end when a rank is lost, for all its checkpoints in memory: {}. Use Open MPI 5 and mpirun "
      "--with-ft ulfm, or --imbrex-checkpoint=FOLDER and imbrex run --restart-on-failure",
      why));
}

bool is_spare(const transport* t) {
#if IMBREX_HAVE_MPI
  if (const auto* const mpi = dynamic_cast<const mpi_transport*>(t)) return mpi->is_spare();
#endif
  static_cast<void>(t);
  return false;
}

int agreed_code(transport* t, int code, bool may_be_lost) {
#if IMBREX_HAVE_MPI
  auto* const mpi = dynamic_cast<mpi_transport*>(t);
  if (mpi != nullptr && may_be_lost && why_no_mpi_recovery().empty()) {
    constexpr int nobody_begins_again = 1, nobody_fails = 2;
    const int agreed = mpi->agree_on((code != begin_again ? nobody_begins_again : 0) |
                                     (code == begin_again || code == 0 ? nobody_fails : 0));
    if ((agreed & nobody_fails) == 0) return code == begin_again || code == 0 ? exit_code_failed_entry : code;
    return (agreed & nobody_begins_again) == 0 ? begin_again : code;
  }
#endif
  static_cast<void>(t), static_cast<void>(may_be_lost);
  return code;
}

std::unique_ptr<transport> those_left(std::unique_ptr<transport> t) {
#if IMBREX_HAVE_MPI
  if (auto* const mpi = dynamic_cast<mpi_transport*>(t.get())) return std::make_unique<mpi_transport>(*mpi);
#endif
  throw usage_error(
      fmt::format("a job over the transport {} cannot begin again: use --imbrex-transport=mpi", t->name()));
}

}  // namespace imbrex::detail
