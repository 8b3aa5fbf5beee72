#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "mpi/mpi_gather.h"
#include "run_setup.h"
#include "system/domain.h"
#include "system/sums.h"

namespace md {

/// The box of a rank, number of the box being that of the rank.
class mpi_box {
 public:
  mpi_box(const run_setup& s, const model& m, MPI_Comm all);

  /// Atoms with their first velocities.
  void make();
  /// Lists and forces at the start, or after `step`.
  void start();
  void step(std::int64_t number);
  /// On all ranks, the sums of all.
  thermo_sums sum_thermo() const;
  /// On all ranks: added over all ranks.
  block_facts facts() const;
  /// All ranks' atoms, on rank 0; the others get nothing.
  std::vector<dump_atom> gather_atoms() const;

 private:
  using pack_function = void (domain::*)(int, std::vector<double>&) const;
  using unpack_function = void (domain::*)(int, std::span<const double>);

  void reneighbour();
  void exchange_migrants();
  void compute_forces(bool wants_energy);
  /// `to_ghosts`: from atoms to where they are ghosts; else back.
  void exchange(int r, pack_function pack, unpack_function unpack, bool to_ghosts = true);
  int rank_of(const box_index& b) const { return static_cast<int>(model_.boxes.number_of(b)); }

  const run_setup& setup_;
  const model& model_;
  const MPI_Comm all_ranks_;
  domain all_;
  std::vector<std::vector<double>> out_, in_;
  std::int64_t step_ = 0, next_sort_ = 0;
  block_facts facts_;
};

}  // namespace md
