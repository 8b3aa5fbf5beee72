#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "output/dump.h"
#include "system/domain.h"
#include "system/sums.h"

/// What ranks do together that have a box each.
namespace md {

int rank_in(MPI_Comm all);

/// Added on all ranks.
template <std::size_t n>
std::array<std::int64_t, n> added(std::array<std::int64_t, n> mine, MPI_Comm all) {
  std::array<std::int64_t, n> sum{};
  MPI_Allreduce(mine.data(), sum.data(), static_cast<int>(n), MPI_INT64_T, MPI_SUM, all);
  return sum;
}
block_facts added(const block_facts& mine, MPI_Comm all);

/// The atoms of a rank's box, with their first velocities.
void make_initial_atoms(domain& box, const model& m, const initial_atoms* initial, MPI_Comm all);

/// What came from a rank, of whatever length.
template <class T>
std::vector<T> receive_any_number(int from, int tag, MPI_Comm all) {
  MPI_Message message;
  MPI_Status status;
  MPI_Mprobe(from, tag, all, &message, &status);
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  std::vector<T> values(static_cast<std::size_t>(bytes) / sizeof(T));
  MPI_Mrecv(values.data(), bytes, MPI_BYTE, &message, MPI_STATUS_IGNORE);
  return values;
}

/// All ranks' atoms, on rank 0; the others get nothing.
std::vector<dump_atom> gathered(const std::vector<dump_atom>& mine, MPI_Comm all);

}  // namespace md
