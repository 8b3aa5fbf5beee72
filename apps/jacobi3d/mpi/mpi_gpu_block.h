#pragma once

#include <array>
#include <memory>
#include <vector>

#include "imbrex/device/buffer.h"
#include "kernels/gpu_layout.h"
#include "mpi/mpi_block.h"
#include "mpi/mpi_gpu_halo_exchange.h"
#include "options.h"
#include "support/mpi_gpu.h"
#include "support/mpi_session.h"

namespace jacobi {

/// One rank's block in the memory of the rank's GPU, updated by the kernels of gpu_kernels.h: one stream computes, one
/// of high priority packs, copies and unpacks. One kernel packs all faces and one unpacks them.
class mpi_gpu_block final : public mpi_block {
 public:
  /// Throws out_of_memory and device_error.
  mpi_gpu_block(const apps::mpi_session& mpi, apps::mpi_gpu& gpu, const options& o, const decomposition& blocks,
                halo_path path);

  /// Bytes of GPU memory, and of host memory, that a block of this size takes at most.
  static std::uint64_t gpu_bytes_needed(extents size, halo_path path);
  static std::uint64_t host_bytes_needed(extents size, halo_path path, const options& o);

  void set_initial_state() override;
  void iterate() override;
  void finish() override;
  apps::exact_sum::limb_array squared_changes() override;
  std::uint64_t hash() override;
  void write(const field_outputs& outputs) override;
  verification compare(const double* expected) override;

 private:
  double* current() { return fields_[parity_].data(); }
  double* next() { return fields_[parity_ ^ 1].data(); }
  /// The current field without ghosts and padding.
  std::vector<double> download();
  /// What `enqueue(numbers)` adds, by the compute stream, to so many zeros in GPU memory.
  template <class Number, class Enqueue>
  std::vector<Number> sum_on_gpu(std::size_t count, Enqueue enqueue);

  const options& options_;
  const block_position position_;
  const box cells_;
  const gpu_layout layout_;
  const gpu_ends ends_;
  std::array<imbrex::buffer<double>, 2> fields_;
  std::unique_ptr<imbrex::stream> compute_, communication_;
  mpi_gpu_halo_exchange exchange_;
  std::size_t parity_ = 0;
};

}  // namespace jacobi
