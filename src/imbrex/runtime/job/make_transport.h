#pragma once

#include <memory>

#include "imbrex/comm/transport.h"
#include "imbrex/runtime/options/options.h"

namespace imbrex::detail {

enum class transport_choice { none, loopback, mpi, ucx };

/// What the options ask for, or, where they leave it open, how the process was started. Throws `not_built`.
transport_choice choose_transport(const runtime_options& options);

/// That of a process which is one rank; null for `none` and `loopback`, whose ranks are threads. Starts MPI.
std::unique_ptr<transport> make_transport(transport_choice choice, const runtime_options& options);

/// \name Jobs that keep checkpoints in memory, of processes
///@{
/// Warns where the job could not go on without a rank that is lost, and says what to do; with spare ranks it throws.
void check_can_go_on(const transport* t, int num_spares);
/// Whether this process waits to take the place of a rank that is lost.
bool is_spare(const transport* t);
/// After a run, with its exit code, `begin_again` among them: what the ranks that are left agree on, where one may have
/// been lost (`may_be_lost`); else the code itself.
int agreed_code(transport* t, int code, bool may_be_lost);
/// After a run that is to begin again: of the ranks that are left. Throws `usage_error` where there is no such.
std::unique_ptr<transport> those_left(std::unique_ptr<transport> t);
///@}

}  // namespace imbrex::detail
