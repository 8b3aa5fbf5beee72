#pragma once

#include <imbrex/imbrex.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "chares/chare_block.h"
#include "chares/gpu_deep_steps.h"
#include "chares/gpu_resident_steps.h"
#include "chares/gpu_strategy.h"
#include "decomposition.h"
#include "kernels/gpu_kernels.h"
#include "options.h"
#include "result.h"
#include "support/exact_sum.h"

namespace jacobi {

/// One block of the grid in the memory of a GPU. Does what `block` does on the host, with the kernels of gpu_kernels.h
/// and the strategies of gpu_strategy.h.
class gpu_block : public imbrex::chare<gpu_block, imbrex::index3d> {
 public:
  gpu_block();

  imbrex::task<> prepare(std::int64_t done_before);
  void iterate(std::int64_t done_before);
  /// As `block::iterate_on`; where loads are balanced, it moves at points at which the GPU has come to an end.
  imbrex::task<> iterate_on();
  using restartable = imbrex::entry_list<&gpu_block::iterate_on>;
  imbrex::when<std::int64_t, apps::exact_sum::limb_array> changes;
  imbrex::task<> hash();
  imbrex::task<> write(std::string suffix);
  imbrex::task<verification> compare(std::vector<double> expected);

  template <class Archive>
  void serialize(Archive& ar) {
    ar & reached_ & enqueued_ & shown_before_ & outcome_ & checks_ & consumed_ & changes & parity_;
    ar& fields_[static_cast<std::size_t>(parity_)];  // in a statement of its own: the index has been read by then
    if constexpr (Archive::is_loading) {
      packed_ = false;
      lacks_next_ = true;
    }
  }

 private:
  imbrex::task<> balance_when_idle();
  /// So many iterations at once, of at most `most`.
  std::int64_t steps_within(std::int64_t most) const;
  /// Enqueues so many iterations. With `keeps_previous` the field before the last one is kept.
  imbrex::task<> advance(std::int64_t steps, bool keeps_previous);
  /// Enqueues one iteration; waits only until the messages that announce the neighbours' faces have come.
  imbrex::task<> one_iteration();
  /// The same, for `repeat`.
  imbrex::task<> round(int);
  void pack();
  void update(const const_face_buffers& halos);
  void run_graph(const const_face_buffers& halos);
  void enqueue_kernels(const const_face_buffers& halos, bool one_stream);
  /// Iterations are rounds that are repeated, as one graph of all blocks where that can be.
  bool repeats() const { return strategy_.graph && strategy_.fusion == fusion_strategy::d; }
  /// One kernel reads the halos, computes and writes the next ones.
  bool is_one_kernel() const {
    return strategy_.fusion == fusion_strategy::c || strategy_.fusion == fusion_strategy::d;
  }
  /// Whether what computes also writes the next halos: that one kernel, or a graph.
  bool packs_by_compute() const { return strategy_.graph || is_one_kernel(); }
  face_buffers outgoing();
  const_face_buffers incoming();

  imbrex::task<> set_initial_state();
  imbrex::task<apps::exact_sum::limb_array> squared_changes();
  /// The current field without ghosts and padding.
  imbrex::task<std::vector<double>> download();

  double* current() { return fields_[static_cast<std::size_t>(parity_)].data(); }
  double* next() { return fields_[static_cast<std::size_t>(parity_ ^ 1)].data(); }
  bool is_first() const { return index() == imbrex::index3d{}; }

  const options& options_;
  const gpu_strategy strategy_;
  const bool has_points_;  ///< at which checkpoints may be made
  const decomposition blocks_;
  const block_position position_;
  const box cells_;
  const gpu_layout layout_;
  const gpu_ends ends_;
  std::vector<face> neighbours_;
  gpu_streams streams_;
  std::array<imbrex::buffer<double>, 2> fields_;

  std::optional<gpu_deep_steps> deep_;          ///< with `--steps`
  std::optional<gpu_resident_steps> resident_;  ///< with `--steps resident`

  // Single steps.
  int parity_ = 0;
  bool lacks_next_ = false;  ///< after a restart: the ghosts of the next field
  bool packed_ = false;      ///< a round of `faces_` has begun, with the current field's
  imbrex::halo<double> faces_;
  std::array<std::unique_ptr<imbrex::graph>, 2> graphs_;
  imbrex::run_ahead ahead_{2};
  std::int64_t enqueued_ = 0;

  std::int64_t reached_ = 0;       // iterations of this repeat
  std::int64_t shown_before_ = 0;  // iterations that the progress has shown before them
  repeat_outcome outcome_;
  std::int64_t checks_ = 0;    // contributed to
  std::int64_t consumed_ = 0;  // ... and been looked at
};

/// Bytes of GPU memory that a block takes.
std::uint64_t gpu_bytes_of_block(extents size, const gpu_strategy& how);

}  // namespace jacobi
