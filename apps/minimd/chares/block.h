#pragma once

#include <imbrex/imbrex.h>

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "chares/collector.h"
#include "run_setup.h"
#include "support/iteration_progress.h"
#include "support/pe_time.h"
#include "system/domain.h"
#include "system/sums.h"

namespace md {

/// What all chares of a process read; set before the job starts.
struct block_job {
  const run_setup* setup = nullptr;
  apps::iteration_progress* shown = nullptr;  ///< where the first block is only
};
extern block_job this_job;

/// A box with its atoms, stepped for itself (2020 paper, IV-B2): nothing waits for all boxes, each goes on when what it
/// needs of those around it has come.
class block : public imbrex::chare<block, imbrex::index3d> {
 public:
  block();

  /// \name At the start, in this order
  ///@{
  /// Makes the atoms and contributes the sums of their velocities (`limbs_of<3>`).
  void make();
  /// Takes this off all velocities and contributes the sum of m v^2 (`limbs_of<1>`).
  void shift_velocities(vector3 by);
  /// Multiplies all velocities.
  void scale_velocities(double by);
  ///@}

  /// Where the atoms go after the steps whose atoms are dumped.
  void sends_dumps_to(imbrex::element_proxy<collector> dumps) { dumps_ = dumps; }
  /// Computes the first forces and goes all steps. Contributes a `thermo_share` for the state at the start, wherever
  /// `thermo_every` asks for it, and at the end; then its `block_facts`. Called again, it goes the rest.
  imbrex::task<> run();
  using restartable = imbrex::entry_list<&block::run>;

  /// \name What comes from the boxes around
  ///@{
  imbrex::when<std::int64_t, std::int64_t, std::vector<atom_record>> migrants;  ///< step; number of the sender's box
  imbrex::when<std::int64_t, int, std::vector<double>> ghosts;                  ///< step and round; link
  imbrex::when<std::int64_t, int, std::vector<double>> positions, slopes, forces;
  imbrex::when<std::int64_t> turn;  ///< step; from itself, when nothing else is to be done
                                    ///@}

  /// What is kept at a checkpoint, and goes to another process: where atoms are sorted into boxes anew, half way
  /// through a step, all else follows from them; so it does before the first step.
  template <class Archive>
  void serialize(Archive& ar) {
    std::vector<atom_record> atoms;
    std::int64_t elapsed_ns = apps::pe_time_ns() - began_ns_;
    if constexpr (!Archive::is_loading) atoms = all_.own_atoms();
    ar & step_ & next_sort_ & elapsed_ns & facts_ & dumps_ & atoms;
    ar & migrants & ghosts & positions & slopes & forces & turn;
    if constexpr (Archive::is_loading) {
      for (const atom_record& a : atoms) all_.add(a);
      began_ns_ = apps::pe_time_ns() - elapsed_ns;
      is_half_way_ = step_ > 0;
    }
  }

 private:
  using slot = imbrex::when<std::int64_t, int, std::vector<double>>;
  using pack_function = void (domain::*)(int, std::vector<double>&) const;
  using unpack_function = void (domain::*)(int, std::span<const double>);

  imbrex::task<> reneighbour();
  imbrex::task<> exchange_migrants();
  imbrex::task<> exchange_ghosts();
  imbrex::task<> compute_forces(bool wants_energy);
  /// All links of round `r`: what `pack` says goes to the slot `M` of those around, what comes is given to `unpack`.
  /// `to_ghosts`: from atoms to where they are ghosts; else back.
  template <slot block::* M, bool to_ghosts = true>
  imbrex::task<> exchange(int r, pack_function pack, unpack_function unpack);
  /// Of step and round; the slots take one number.
  std::int64_t key(int r) const { return step_ * all_.num_rounds() + r; }
  imbrex::task<> tell_state();
  void sort_if_due();

  const options& options_;
  const std::shared_ptr<const model> model_;
  domain all_;
  std::vector<std::vector<double>> buffers_;  // of each link: what came is what goes next
  std::int64_t step_ = 0;
  std::int64_t next_sort_ = 0;
  bool is_half_way_ = false;  // through step `step_`: as what was read back is
  imbrex::element_proxy<collector> dumps_;
  std::int64_t began_ns_ = 0;
  block_facts facts_;
};

}  // namespace md
