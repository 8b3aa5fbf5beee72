#pragma once

#include <memory>

#include "imbrex/comm/transport.h"
#include "imbrex/runtime/options.h"

namespace imbrex::detail {

enum class transport_choice { none, loopback, mpi, ucx };

/// What the options ask for, or, where they leave it open, how the process was started. Throws `not_built`.
transport_choice choose_transport(const runtime_options& options);

/// That of a process which is one rank; null for `none` and `loopback`, whose ranks are threads. Starts MPI.
std::unique_ptr<transport> make_transport(transport_choice choice, const runtime_options& options);

}  // namespace imbrex::detail
