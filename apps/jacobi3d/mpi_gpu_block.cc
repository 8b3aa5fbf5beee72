#include "mpi_gpu_block.h"

#include <algorithm>

#include "gpu_kernels.h"
#include "imbrex/memory/copy.h"
#include "initial_state.h"
#include "serial_reference.h"

namespace jacobi {
namespace {

/// Pinned memory for a few planes of a block, by way of which cells go to the GPU and back: rows as far apart as there,
/// without ghost rows between the planes.
class staged_planes {
 public:
  staged_planes(imbrex::device& on, const gpu_layout& layout)
      : layout_(layout),
        of_plane_(layout.pitch * layout.size.ny),
        count_(std::clamp<std::int64_t>(most_doubles / of_plane_, 1, layout.size.nz)),
        memory_(on, static_cast<std::size_t>(count_ * of_plane_), imbrex::memory_kind::pinned) {}

  std::int64_t count() const { return count_; }
  double* data() const { return memory_.data(); }
  double* plane(std::int64_t k) const { return data() + k * of_plane_; }
  /// What lies between the rows goes along, ghosts among it.
  void fill(double value) { std::fill_n(data(), count_ * of_plane_, value); }
  /// Enqueues the copying of plane k to plane z of the field, and of plane z of the field to plane k.
  void upload(imbrex::stream& s, std::int64_t k, double* field, std::int64_t z) const {
    s.copy(field + layout_.index(0, 0, z), plane(k), bytes());
  }
  void download(imbrex::stream& s, std::int64_t k, const double* field, std::int64_t z) const {
    s.copy(plane(k), field + layout_.index(0, 0, z), bytes());
  }

 private:
  static constexpr std::int64_t most_doubles = std::int64_t{1} << 22;

  /// From the first cell of a plane to its last.
  std::size_t bytes() const {
    return static_cast<std::size_t>(of_plane_ - layout_.pitch + layout_.size.nx) * sizeof(double);
  }

  const gpu_layout layout_;
  const std::int64_t of_plane_;
  const std::int64_t count_;
  imbrex::buffer<double> memory_;
};

}  // namespace

mpi_gpu_block::mpi_gpu_block(const mpi_session& mpi, mpi_gpu& gpu, const options& o, const decomposition& blocks,
                             halo_path path)
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
  for (auto& f : fields_) gpu_fill(*compute_, f.data(), layout_.doubles(), options_.boundary.value);
  staged_planes staged(compute_->on(), layout_);
  for (std::int64_t z = 0; z < cells_.size.nz; z += staged.count()) {
    box part = cells_;
    part.z0 += z;
    part.size.nz = std::min(staged.count(), cells_.size.nz - z);
    staged.fill(options_.boundary.value);
    write_initial_state(staged.data(), layout_.pitch, options_.grid, part, options_.initial, options_.boundary);
    for (std::int64_t k = 0; k < part.size.nz; ++k) staged.upload(*compute_, k, current(), z + k);
    synchronize(*compute_);
  }
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

void mpi_gpu_block::finish() { synchronize(*compute_); }

template <class Number, class Enqueue>
std::vector<Number> mpi_gpu_block::sum_on_gpu(std::size_t count, Enqueue enqueue) {
  imbrex::device& gpu = compute_->on();
  const imbrex::buffer<Number> on_gpu(gpu, count);
  const imbrex::buffer<Number> on_host(gpu, count, imbrex::memory_kind::pinned);
  compute_->fill(on_gpu.data(), 0, count * sizeof(Number));
  enqueue(on_gpu.data());
  imbrex::copy(on_host.view(), imbrex::buffer_view<const Number>(on_gpu), *compute_);
  synchronize(*compute_);
  return std::vector<Number>(on_host.data(), on_host.data() + count);
}

exact_sum::limb_array mpi_gpu_block::squared_changes() {
  const auto sums = sum_on_gpu<long long>(exact_sum::num_limbs, [this](long long* limbs) {
    gpu_change(*compute_, layout_, next(), current(), limbs);  // the field before stands where the next one will
  });
  exact_sum::limb_array limbs{};
  std::ranges::copy(sums, limbs.begin());
  return exact_sum(limbs).limbs();
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
    synchronize(*compute_);
    for (std::int64_t row = 0; row < planes * n.ny; ++row)
      std::copy_n(staged.data() + row * layout_.pitch, n.nx, dense.data() + (z * n.ny + row) * n.nx);
  }
  return dense;
}

void mpi_gpu_block::write(const field_outputs& outputs) { outputs.write(position_, download().data(), cells_.size.nx); }

verification mpi_gpu_block::compare(const double* expected) {
  return compare_block(cells_.size, download().data(), cells_.size.nx, expected);
}

}  // namespace jacobi
