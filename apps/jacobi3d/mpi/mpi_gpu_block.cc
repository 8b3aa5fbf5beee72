#include "mpi/mpi_gpu_block.h"

#include <algorithm>

#include "chares/gpu_initial_state.h"
#include "field/serial_reference.h"
#include "imbrex/device/copy.h"
#include "kernels/gpu_kernels.h"
#include "kernels/gpu_planes.h"

namespace jacobi {

mpi_gpu_block::mpi_gpu_block(const apps::mpi_session& mpi, apps::mpi_gpu& gpu, const options& o,
                             const decomposition& blocks, halo_path path)
    : options_(o),
      position_(blocks.position(mpi.rank())),
      cells_(blocks.cells(position_)),
      layout_(gpu_layout::of(cells_.size)),
      ends_{blocks.cx() == 1 && !o.boundary.periodic, o.boundary.value},
      compute_(gpu.device().make_stream(imbrex::stream_priority::low, "the compute stream")),
      communication_(gpu.device().make_stream(imbrex::stream_priority::high, "the communication stream")),
      exchange_(mpi, blocks, position_, o.boundary.periodic, path, *communication_) {
  for (auto& f : fields_) f = imbrex::buffer<double>(gpu.device(), static_cast<std::size_t>(layout_.doubles()));
}

std::uint64_t mpi_gpu_block::gpu_bytes_needed(extents size, halo_path path) {
  return 2 * sizeof(double) * static_cast<std::uint64_t>(gpu_layout::of(size).doubles()) +
         mpi_gpu_halo_exchange::gpu_bytes_needed(size, path);
}

std::uint64_t mpi_gpu_block::host_bytes_needed(extents size, halo_path path, const options& o) {
  const bool downloads = o.verify || !o.outputs.empty();
  return mpi_gpu_halo_exchange::host_bytes_needed(size, path) +
         (downloads ? static_cast<std::uint64_t>(size.cells()) * sizeof(double) : 0);
}

void mpi_gpu_block::set_initial_state() {
  gpu_initial_state state(*compute_, layout_, current(), next(), cells_, options_);
  while (state.enqueue_part()) apps::synchronize(*compute_);
}

void mpi_gpu_block::iterate() {
  communication_->after(*compute_);
  exchange_.start(current());
  if (options_.overlap) gpu_update_interior(*compute_, layout_, options_.formula, current(), next());
  exchange_.finish(current());
  compute_->after(*communication_);
  if (options_.overlap) {
    gpu_update_exterior(*compute_, layout_, options_.formula, current(), next());
  } else {
    gpu_update(*compute_, layout_, options_.formula, ends_, current(), next(), parity_ != 0);
  }
  parity_ ^= 1;
}

void mpi_gpu_block::finish() { apps::synchronize(*compute_); }

template <class Number, class Enqueue>
std::vector<Number> mpi_gpu_block::sum_on_gpu(std::size_t count, Enqueue enqueue) {
  imbrex::device& gpu = compute_->on();
  const imbrex::buffer<Number> on_gpu(gpu, count);
  const imbrex::buffer<Number> on_host(gpu, count, imbrex::memory_kind::pinned);
  compute_->fill(on_gpu.data(), 0, count * sizeof(Number));
  enqueue(on_gpu.data());
  imbrex::copy(on_host.view(), imbrex::buffer_view<const Number>(on_gpu), *compute_);
  apps::synchronize(*compute_);
  return std::vector<Number>(on_host.data(), on_host.data() + count);
}

apps::exact_sum::limb_array mpi_gpu_block::squared_changes() {
  const auto sums = sum_on_gpu<long long>(apps::exact_sum::num_limbs, [this](long long* limbs) {
    gpu_change(*compute_, layout_, next(), current(), limbs);  // the field before stands where the next one will
  });
  apps::exact_sum::limb_array limbs{};
  std::ranges::copy(sums, limbs.begin());
  return apps::exact_sum(limbs).limbs();
}

std::uint64_t mpi_gpu_block::hash() {
  return sum_on_gpu<unsigned long long>(
             1,
             [this](unsigned long long* sum) { gpu_hash(*compute_, layout_, current(), options_.grid, cells_, sum); })
      .front();
}

std::vector<double> mpi_gpu_block::download() {
  const extents n = cells_.size;
  std::vector<double> dense(static_cast<std::size_t>(n.cells()));
  const staged_planes staged(compute_->on(), layout_);
  for (std::int64_t z = 0; z < n.nz; z += staged.count()) {
    const std::int64_t planes = std::min(staged.count(), n.nz - z);
    for (std::int64_t k = 0; k < planes; ++k) staged.download(*compute_, k, current(), z + k);
    apps::synchronize(*compute_);
    staged.unpack(planes, dense.data() + z * n.ny * n.nx);
  }
  return dense;
}

void mpi_gpu_block::write(const field_outputs& outputs) { outputs.write(position_, download().data(), cells_.size.nx); }

verification mpi_gpu_block::compare(const double* expected) {
  return compare_block(cells_.size, download().data(), cells_.size.nx, expected);
}

}  // namespace jacobi
