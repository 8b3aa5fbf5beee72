// The kernel of 09_gpu_jacobi2d.cc: one thread for each cell.
#include "09_gpu_jacobi2d.h"

#include <imbrex/device/cuda/cuda_launch.h>

namespace {

__global__ void update_kernel(sweep t) {
  const int x = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int y = static_cast<int>(blockIdx.y * blockDim.y + threadIdx.y);
  if (x >= t.nx || y >= t.ny) return;
  const double change = update_cell(t, x, y);
  // Doubles that are not negative are ordered like their bits.
  if (t.change != nullptr) {
    atomicMax(reinterpret_cast<unsigned long long*>(t.change),
              static_cast<unsigned long long>(__double_as_longlong(change)));
  }
}

}  // namespace

void gpu_update(imbrex::stream& s, const sweep& t) {
  const dim3 threads(32, 8);
  const dim3 blocks((static_cast<unsigned>(t.nx) + threads.x - 1) / threads.x,
                    (static_cast<unsigned>(t.ny) + threads.y - 1) / threads.y);
  imbrex::launch(s, "update", update_kernel, blocks, threads, 0, t);
}
