#pragma once

#include <mpi.h>

#include <functional>
#include <string>

namespace jacobi {

/// Collective. Runs `step` on every rank; if it throws on any, all ranks throw the error of the lowest such rank, so
/// that they go the same way and none is left waiting. Inside `step` there must be no collective call that a failing
/// rank would miss. Ranks that agree pay one small all-reduce.
void agree(MPI_Comm comm, const std::function<void()>& step);

/// Not collective. Runs `step`, during which other ranks may wait for this one: an imbrex::error that leaves it becomes
/// a std::runtime_error with the same text, which ends the job (see run_mpi_solver).
void alone(const std::function<void()>& step);

/// Collective. Throws usage_error on every rank, with the same text, unless all ranks pass the same options digest.
void agree_on_options(MPI_Comm comm, const std::string& digest);

}  // namespace jacobi
