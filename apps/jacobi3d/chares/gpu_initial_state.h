#pragma once

#include <array>
#include <memory>

#include "decomposition.h"
#include "imbrex/device/buffer.h"
#include "kernels/gpu_layout.h"
#include "kernels/gpu_planes.h"
#include "options.h"

namespace jacobi {

/// The state of initial_state.h in a block's fields on a GPU, bit for bit: computed there, or, when it comes from a
/// file, brought there a few planes at a time. Both fields' ghosts get the boundary's value.
///
///     gpu_initial_state state(s, layout, field, other, cells, options);
///     while (state.enqueue_part()) <wait for s>;
class gpu_initial_state {
 public:
  /// `cells` is where the block lies in the grid. All the references must outlive it.
  gpu_initial_state(imbrex::stream& s, const gpu_layout& layout, double* field, double* other, const box& cells,
                    const options& o);

  /// Enqueues the next part, when all before has finished; false when there is none. Throws `usage_error` if the file
  /// cannot be used.
  bool enqueue_part();

 private:
  void compute();
  void enqueue_sine();
  void enqueue_planes();

  imbrex::stream& stream_;
  const gpu_layout& layout_;
  double* const field_;
  const box cells_;
  const options& options_;
  std::int64_t done_ = 0;  ///< planes
  std::unique_ptr<staged_planes> staged_;
  imbrex::buffer<double> tables_on_host_, tables_;
};

}  // namespace jacobi
