#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "chares/collector.h"
#include "chares/gpu_halo.h"
#include "gpu/gpu_domain.h"
#include "run_setup.h"
#include "support/iteration_progress.h"
#include "support/pe_time.h"
#include "system/sums.h"

namespace md {

struct gpu_box_job {
  const run_setup* setup = nullptr;
  apps::iteration_progress* shown = nullptr;  ///< where the first box is only
};
extern gpu_box_job this_gpu_job;

/// A box with its atoms on a GPU, as `block` is one on the host. A step is one kernel, whose new positions go to the
/// boxes around at once; nothing comes to the host but what is told of states, and, at reneighbouring, how many atoms
/// go where.
class gpu_box : public imbrex::chare<gpu_box, imbrex::index3d> {
 public:
  gpu_box();

  /// \name At the start, in this order, as `block` has them
  ///@{
  void make();
  void shift_velocities(vector3 by);
  void scale_velocities(double by);
  ///@}

  /// As `block::run`.
  void sends_dumps_to(imbrex::element_proxy<collector> dumps) { dumps_ = dumps; }
  imbrex::task<> run();
  using restartable = imbrex::entry_list<&gpu_box::run>;

  /// How many atoms are to come at a reneighbouring, leavers first, then ghosts.
  imbrex::when<std::int64_t, int, std::uint32_t> coming;  ///< key; place of the box around; atoms

  /// As `block::serialize`. A box that balancing moves before it runs has its atoms on the host.
  template <class Archive>
  void serialize(Archive& ar) {
    std::vector<atom_record> atoms;
    bool is_at_start = at_start_.has_value();
    std::int64_t elapsed_ns = began_ns_ != 0 ? apps::pe_time_ns() - began_ns_ : -1;
    if constexpr (!Archive::is_loading) {
      if (is_at_start) atoms = at_start_->own_atoms();
    }
    ar & step_ & num_reneighbourings_ & elapsed_ns & dumps_ & is_at_start & atoms & all_ & coming;
    if constexpr (Archive::is_loading) {
      began_ns_ = elapsed_ns >= 0 ? apps::pe_time_ns() - elapsed_ns : 0;
      is_half_way_ = num_reneighbourings_ > 0;
      if (!is_at_start) return;
      at_start_.emplace(*model_, where_);
      for (const atom_record& a : atoms) at_start_->add(a);
    }
  }

 private:
  imbrex::task<> reneighbour();
  imbrex::task<> exchange_movers();
  imbrex::task<> exchange_ghosts();
  imbrex::task<> exchange_positions();
  imbrex::task<> exchange_slopes();
  /// What `pack` says goes to those around, what comes to `ghosts`.
  template <class T>
  imbrex::task<> exchange(imbrex::halo<T>* halo, void (gpu_domain::*pack)(T*, imbrex::stream&),
                          T* (gpu_domain::*ghosts)());
  imbrex::task<> tell_state();
  imbrex::task<> dump();
  imbrex::task<> begin();
  imbrex::task<> step(bool finishes, bool advances, bool wants_sums);
  /// A step that nothing is told of, whose messages go while its inner bricks are computed.
  imbrex::task<> step_while_exchanging();
  /// What is computed from now on comes after what came, and after what was computed in other streams.
  void join_streams();
  /// Tells those around how many atoms they get, and hears how many come.
  imbrex::task<std::vector<std::uint32_t>> exchange_counts(std::vector<std::uint32_t> out, std::int64_t key);
  bool is_first() const { return index() == imbrex::index3d{}; }

  const options& options_;
  const std::shared_ptr<const model> model_;
  const box_index where_;
  const apps::gpu_streams streams_;
  gpu_domain all_;
  std::optional<domain> at_start_;  ///< the atoms on the host, until they are on the GPU
  const apps::halo_path path_;
  imbrex::halo<gpu_mover> movers_;
  imbrex::halo<vector4> positions_;
  imbrex::halo<double> slopes_;
  imbrex::element_proxy<collector> dumps_;
  imbrex::event read_;   ///< ghosts that are about to be overwritten have been read
  imbrex::event outer_;  ///< the outer bricks of the step before have been computed
  std::int64_t step_ = 0, began_ns_ = 0, num_reneighbourings_ = 0;
  bool is_half_way_ = false;  ///< to step `step_` + 1, where atoms are sorted anew: as what was read back is
};

}  // namespace md
