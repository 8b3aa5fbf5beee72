#include "gpu_completion_bench.h"

#include "imbrex/device/cuda/cuda_launch.h"

namespace {

__global__ void nothing_kernel() {}
__global__ void nothing_marked_kernel(imbrex::kernel_mark mark) { mark.reached(); }
__global__ void take_time_kernel(unsigned long long nanoseconds) {
  unsigned long long start = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < nanoseconds);
}

}  // namespace

namespace imbrex_bench {

void nothing(imbrex::stream& s) { imbrex::launch(s, "nothing", nothing_kernel, dim3(1), dim3(32), 0); }
void nothing_marked(imbrex::stream& s) {
  imbrex::launch_marked(s, "nothing", nothing_marked_kernel, dim3(1), dim3(32), 0);
}
void take_time(imbrex::stream& s, std::int64_t microseconds) {
  imbrex::launch(s, "take time", take_time_kernel, dim3(1), dim3(1), 0,
                 static_cast<unsigned long long>(microseconds) * 1000);
}

}  // namespace imbrex_bench
