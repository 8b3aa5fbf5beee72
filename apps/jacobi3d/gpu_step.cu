#include <algorithm>

#include "gpu_kernels.h"
#include "gpu_step.cuh"
#include "imbrex/device/cuda_launch.h"

namespace jacobi {

void gpu_step(imbrex::stream& s, const gpu_block_entry* table, std::span<const gpu_face_tile> faces,
              std::span<const gpu_step_block> blocks, const gpu_tiling& tiling, stencil formula, double outside,
              int parity) {
  const bool straight = tiling.straight();
  const auto kernel = straight ? (formula.weighted ? gpu::step_kernel<gpu::straight, true>
                                                   : gpu::step_kernel<gpu::straight, false>)
                               : (formula.weighted ? gpu::step_kernel<gpu::marching, true>
                                                   : gpu::step_kernel<gpu::marching, false>);
  while (!blocks.empty()) {
    const std::span<const gpu_step_block> some =
        blocks.first(std::min<std::size_t>(blocks.size(), gpu_blocks_in_a_step));
    gpu::step_task task;
    task.table = table;
    task.faces = faces.data();
    task.num_faces = static_cast<int>(faces.size());
    task.tiling = tiling;
    task.of_block = quick_divisor(tiling.total());
    task.parity = parity;
    task.backwards = straight && parity != 0;
    task.outside = outside;
    task.formula = formula;
    std::ranges::copy(some, task.blocks);
    const auto num_tiles = static_cast<unsigned>(tiling.total()) * static_cast<unsigned>(some.size());
    imbrex::launch(s, "jacobi step", kernel, dim3(static_cast<unsigned>(task.num_faces) + num_tiles),
                   dim3(gpu::straight::columns, gpu::straight::rows), 0, task);
    blocks = blocks.subspan(some.size());
    faces = {};  // the halos of all blocks go with the first kernel
  }
}

}  // namespace jacobi
