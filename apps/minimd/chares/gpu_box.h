#pragma once

#include <imbrex/imbrex.h>

#include <cstdint>
#include <vector>

#include "chares/collector.h"
#include "kernels/gpu_system.h"
#include "run_setup.h"
#include "support/iteration_progress.h"
#include "system/sums.h"

namespace md {

struct gpu_box_job {
  const run_setup* setup = nullptr;
  apps::iteration_progress* shown = nullptr;
};
extern gpu_box_job this_gpu_job;

/// The whole system on one GPU: each step is one kernel, nothing comes to the host but what is told of states, and, at
/// reneighbouring, how much room lists need.
class gpu_box : public imbrex::chare<gpu_box, imbrex::index1d> {
 public:
  gpu_box();

  /// As `block::run`, with the first atoms and velocities, too.
  imbrex::task<> run(imbrex::element_proxy<collector> dumps);

 private:
  template <class T>
  using buffer = imbrex::buffer<T>;

  imbrex::task<> make_atoms();
  imbrex::task<> copy_splines();
  imbrex::task<> reneighbour();
  imbrex::task<> build_lists();
  imbrex::task<> tell_state();
  imbrex::task<> dump(imbrex::element_proxy<collector> dumps);
  imbrex::task<> refuse_lost(std::uint32_t place);
  void make_room_for_lists();
  void step(bool finishes, bool advances, bool wants_sums);
  gpu_atoms atoms(int which) { return {x_[which].data(), v_[which].data(), id_[which].data()}; }
  std::uint64_t bytes() const;

  const options& options_;
  const model model_;
  const std::uint32_t num_;
  gpu_bricks bricks_;
  imbrex::stream& stream_;
  buffer<vector4> x_[2], v_[2];  // x_[now_] is the state; v_[0] and id_[0] are, the others are for reordering
  buffer<std::int64_t> id_[2];
  int now_ = 0;
  buffer<std::uint32_t> keys_[2], order_[2], first_, num_staged_;
  buffer<char> scratch_;
  buffer<gpu_staged> staged_;
  buffer<std::uint16_t> entries_, num_neighbours_;
  gpu_lists lists_;
  buffer<gpu_findings> found_, found_on_host_;  // on the host: what was found, and what to begin with
  buffer<double> sums_, total_, total_on_host_, slope_, embedding_;
  buffer<spline::coefficients> splines_[3];
  gpu_embedded metal_;
  std::int64_t step_ = 0, began_ns_ = 0;
};

}  // namespace md
