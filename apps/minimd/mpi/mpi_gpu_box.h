#pragma once

#include <imbrex/imbrex.h>
#include <mpi.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu/gpu_domain.h"
#include "run_setup.h"
#include "support/gpu_choice.h"
#include "support/mpi_gpu.h"
#include "system/sums.h"

namespace md {

/// What `mpi_box` is on the host, on a GPU: the papers' MPI-HS (`halo_path::host`) and MPI-CA (`halo_path::device`,
/// where MPI takes memory of GPUs), with the kernels of the chares. One stream; the rank waits for it before it sends.
class mpi_gpu_box {
 public:
  mpi_gpu_box(const run_setup& s, const model& m, MPI_Comm all, apps::mpi_gpu& gpu, apps::halo_path path);

  void make();
  void start();
  void step(std::int64_t number);
  thermo_sums sum_thermo();
  block_facts facts() const;
  std::vector<dump_atom> gather_atoms();

 private:
  template <class T>
  struct lane {
    imbrex::buffer<T> out, in, out_on_host, in_on_host;
  };
  using counts = std::vector<std::uint32_t>;

  void reneighbour();
  void exchange_movers();
  void exchange_ghosts();
  void exchange_positions();
  void exchange_slopes();
  void compute(std::int64_t number);
  counts exchange_counts(const counts& out) const;
  /// Memory for what goes and comes; what was packed is then in `out`.
  template <class T>
  void make_rooms(lane<T>& l, const counts& out, const counts& in);
  template <class T>
  gpu_messages<T> exchange(lane<T>& l, const counts& out, const counts& in);
  int rank_of(const box_index& b) const { return static_cast<int>(model_.boxes.number_of(b)); }

  const run_setup& setup_;
  const model& model_;
  const MPI_Comm all_ranks_;
  const apps::halo_path path_;
  const std::unique_ptr<imbrex::stream> stream_;
  gpu_domain all_;
  counts sent_, ghosts_;
  lane<gpu_mover> movers_;
  lane<vector4> positions_;
  lane<double> slopes_;
  gpu_retired retired_;
  std::int64_t step_ = 0;
  bool has_advanced_ = false;  ///< the last kernel went the first half of the next step, too
};

}  // namespace md
