#include "gpu_kernels.h"
#include "gpu_step.cuh"
#include "imbrex/device/cuda_launch.h"

namespace jacobi {

void gpu_step(imbrex::stream& s, const gpu_block_entry* table, const gpu_tile* tiles, std::int64_t num_tiles,
              stencil formula, int parity) {
  if (num_tiles == 0) return;
  const auto kernel =
      formula.weighted ? gpu::step_kernel<gpu::tiling_shape, true> : gpu::step_kernel<gpu::tiling_shape, false>;
  imbrex::launch(s, "jacobi step", kernel, dim3(static_cast<unsigned>(num_tiles)),
                 dim3(gpu_tiling::cells / 2, gpu_tiling::rows), 0, table, tiles, formula, parity);
}

}  // namespace jacobi
