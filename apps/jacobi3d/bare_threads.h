#pragma once

#include <cstdint>

#include "field/block_field.h"
#include "kernels/kernel.h"

/// The yardstick: the same kernel in the barest program that can run it. The whole grid is one block, each thread
/// updates a slab of planes, and a spin barrier ends every iteration. No halos, no messages, no tasks.
namespace jacobi {

class bare_threads {
 public:
  /// The grid with a fixed boundary; all memory is touched here, by the calling thread. Throws usage_error if there are
  /// more threads than planes, or none.
  bare_threads(extents grid, double boundary, const update_kernel& kernel, int num_threads);

  /// The current field, to set the initial state and to read the result; not while `run` is at work.
  block_field& field() { return field_; }

  /// Does so many iterations on threads pinned to cores 0, 1, ... (of those this process may use) and returns the
  /// microseconds for each, thread start not included. Precondition: iterations > 0.
  double run(std::int64_t iterations);

 private:
  block_field field_;
  update_kernel kernel_;
  int num_threads_;
};

/// Pins the calling thread to the n-th of the cores it may run on, counting round; a hint, refusal is ignored.
void pin_to_core(int n);

}  // namespace jacobi
