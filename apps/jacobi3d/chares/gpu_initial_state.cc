#include "chares/gpu_initial_state.h"

#include "field/initial_state.h"
#include "imbrex/device/copy.h"
#include "kernels/gpu_kernels.h"

namespace jacobi {

gpu_initial_state::gpu_initial_state(imbrex::stream& s, const gpu_layout& layout, double* field, double* other,
                                     const box& cells, const options& o)
    : stream_(s), layout_(layout), field_(field), cells_(cells), options_(o) {
  for (double* f : {field, other}) gpu_fill(s, f, layout.doubles(), o.boundary.value);
}

bool gpu_initial_state::enqueue_part() {
  if (done_ == cells_.size.nz) return false;
  if (options_.initial.kind == initial_kind::file) {
    enqueue_planes();
  } else {
    compute();
    done_ = cells_.size.nz;
  }
  return true;
}

void gpu_initial_state::compute() {
  switch (options_.initial.kind) {
    case initial_kind::hot_face: gpu_set_hot_face(stream_, layout_, field_, cells_); break;
    case initial_kind::random:
      gpu_set_random(stream_, layout_, field_, options_.grid, cells_, options_.initial.seed);
      break;
    case initial_kind::sine: enqueue_sine(); break;
    case initial_kind::file: break;
  }
}

void gpu_initial_state::enqueue_sine() {
  const extents &n = cells_.size, &grid = options_.grid;
  const auto total = static_cast<std::size_t>(n.nx + n.ny + n.nz);
  tables_on_host_ = imbrex::buffer<double>(stream_.on(), total, imbrex::memory_kind::pinned);
  tables_ = imbrex::buffer<double>(stream_.on(), total);
  double* to = tables_on_host_.data();
  const auto add = [&](std::int64_t of_grid, std::int64_t first, std::int64_t count) {
    const std::vector<double> all = sine_table(of_grid, options_.boundary.periodic);
    to = std::copy_n(all.begin() + first, count, to);
  };
  add(grid.nx, cells_.x0, n.nx);
  add(grid.ny, cells_.y0, n.ny);
  add(grid.nz, cells_.z0, n.nz);
  imbrex::copy(tables_, tables_on_host_, stream_);
  const double* x = tables_.data();
  gpu_set_product(stream_, layout_, field_, x, x + n.nx, x + n.nx + n.ny);
}

void gpu_initial_state::enqueue_planes() {
  if (staged_ == nullptr) staged_ = std::make_unique<staged_planes>(stream_.on(), layout_);
  box part = cells_;
  part.z0 += done_;
  part.size.nz = std::min(staged_->count(), cells_.size.nz - done_);
  staged_->fill(options_.boundary.value);
  write_initial_state(staged_->data(), layout_.pitch, options_.grid, part, options_.initial, options_.boundary);
  for (std::int64_t k = 0; k < part.size.nz; ++k) staged_->upload(stream_, k, field_, done_ + k);
  done_ += part.size.nz;
}

}  // namespace jacobi
