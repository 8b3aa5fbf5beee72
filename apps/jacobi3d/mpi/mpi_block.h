#pragma once

#include <cstdint>

#include "field/field_output.h"
#include "result.h"
#include "support/exact_sum.h"

namespace jacobi {

/// One rank's block of the MPI implementation, on the host or on a GPU: what mpi_phases.h needs of it. Whatever throws
/// does so on this rank alone.
class mpi_block {
 public:
  virtual ~mpi_block() = default;
  mpi_block(const mpi_block&) = delete;
  mpi_block& operator=(const mpi_block&) = delete;

  /// The field becomes the initial state, the ghosts the boundary value. Throws if an input cannot be read.
  virtual void set_initial_state() = 0;
  /// Exchanges faces with the neighbours, who must do so too, updates and advances. On a GPU the update may still be
  /// under way when it returns.
  virtual void iterate() = 0;
  /// Blocks until what `iterate` began has finished.
  virtual void finish() = 0;
  /// This block's share of the sum of the squared changes that the last iteration made; `exact_sum::limbs`.
  virtual apps::exact_sum::limb_array squared_changes() = 0;
  /// Its share of the field's hash; see field_hash.h.
  virtual std::uint64_t hash() = 0;
  /// Writes its part of the outputs.
  virtual void write(const field_outputs& outputs) = 0;
  /// Compares it with its cells as they should be, row-major without padding.
  virtual verification compare(const double* expected) = 0;

 protected:
  mpi_block() = default;
};

}  // namespace jacobi
