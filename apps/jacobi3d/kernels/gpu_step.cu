#include <algorithm>

#include "imbrex/device/cuda/cuda_launch.h"
#include "kernels/gpu_kernels.h"
#include "kernels/gpu_step.cuh"

namespace jacobi {

namespace {

template <class Shape, bool one_block>
auto choose_kernel(bool weighted) {
  return weighted ? gpu::step_kernel<Shape, one_block, true> : gpu::step_kernel<Shape, one_block, false>;
}

}  // namespace

void gpu_step(imbrex::stream& s, const gpu_block_entry* table, std::span<const gpu_face_tile> faces,
              const gpu_work_list& work, stencil formula, double outside, int parity) {
  std::span<const gpu_step_block> blocks = work.blocks;
  while (!blocks.empty()) {
    const auto some = blocks.first(std::min<std::size_t>(blocks.size(), gpu_blocks_in_a_step));
    // For several blocks the policies of `beyond_cache` cost 4 % instead of gaining 1 %.
    const bool one = some.size() == 1;
    const auto kernel = one && work.tiling.cut.beyond_cache ? choose_kernel<gpu::beyond_cache, true>(formula.weighted)
                        : one                               ? choose_kernel<gpu::near_cache, true>(formula.weighted)
                                                            : choose_kernel<gpu::near_cache, false>(formula.weighted);
    gpu::step_task task;
    task.table = table;
    task.faces = faces.data();
    task.num_faces = static_cast<int>(faces.size());
    task.tiling = work.tiling;
    task.of_block = quick_divisor(work.tiling.total());
    task.parity = parity;
    task.backwards = work.tiling.cut.alternating && parity != 0;
    task.pitch = work.pitch;
    task.plane = work.plane;
    task.outside = outside;
    task.formula = formula;
    std::ranges::copy(some, task.blocks);
    const auto num_tiles = static_cast<unsigned>(work.tiling.total()) * static_cast<unsigned>(some.size());
    double bytes = 0;
    for (const gpu_step_block& b : some) bytes += 2.0 * sizeof(double) * b.nx * b.ny * b.nz;
    imbrex::expect(s, {bytes});
    imbrex::launch(s, "jacobi step", kernel, dim3(static_cast<unsigned>(task.num_faces) + num_tiles),
                   dim3(gpu::near_cache::columns, gpu::near_cache::rows), 0, task);
    blocks = blocks.subspan(some.size());
    faces = {};  // the halos of all blocks go with the first kernel
  }
}

}  // namespace jacobi
