#include <algorithm>

#include "gpu_kernels.h"
#include "gpu_step.cuh"
#include "imbrex/device/cuda_launch.h"

namespace jacobi {

void gpu_step(imbrex::stream& s, const gpu_block_entry* table, std::span<const gpu_face_tile> faces,
              std::span<const gpu_step_block> blocks, stencil formula, double outside, int parity) {
  using shape = gpu::tiling_shape;
  const auto kernel = formula.weighted ? gpu::step_kernel<shape, true> : gpu::step_kernel<shape, false>;
  while (!blocks.empty()) {
    const std::span<const gpu_step_block> some =
        blocks.first(std::min<std::size_t>(blocks.size(), gpu_blocks_in_a_step));
    gpu::step_task task{table, faces.data(), static_cast<int>(faces.size()), static_cast<int>(some.size()), parity,
                        outside, formula, {}};
    std::ranges::copy(some, task.blocks);
    int tiles = 0;
    for (int i = 0; i < task.num_blocks; ++i) {
      task.blocks[i].first = tiles;
      tiles += task.blocks[i].tiling.total();
    }
    imbrex::launch(s, "jacobi step", kernel, dim3(static_cast<unsigned>(task.num_faces + tiles)),
                   dim3(shape::columns, shape::rows), 0, task);
    blocks = blocks.subspan(some.size());
    faces = {};  // the halos of all blocks go with the first kernel
  }
}

}  // namespace jacobi
