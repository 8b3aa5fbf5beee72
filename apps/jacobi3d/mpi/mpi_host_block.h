#pragma once

#include "field/block_field.h"
#include "kernels/kernel.h"
#include "mpi/mpi_block.h"
#include "mpi/mpi_halo_exchange.h"
#include "options.h"
#include "support/mpi_session.h"

namespace jacobi {

/// One rank's block in host memory, updated by the rank's thread.
class mpi_host_block final : public mpi_block {
 public:
  /// Allocates and touches the memory. Throws out_of_memory.
  mpi_host_block(const apps::mpi_session& mpi, const options& o, const decomposition& blocks);

  void set_initial_state() override;
  void iterate() override;
  void finish() override {}
  apps::exact_sum::limb_array squared_changes() override;
  std::uint64_t hash() override;
  void write(const field_outputs& outputs) override;
  verification compare(const double* expected) override;

 private:
  void start_exchange();

  const options& options_;
  block_position position_;
  box cells_;
  block_field field_;
  mpi_halo_exchange exchange_;
  update_kernel kernel_;
};

}  // namespace jacobi
