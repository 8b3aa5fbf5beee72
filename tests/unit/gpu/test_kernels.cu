#include "test_kernels.h"

#include "imbrex/device/cuda/cuda_launch.h"

namespace {

__global__ void multiply_add_kernel(std::int64_t* data, std::int64_t count, std::int64_t factor, std::int64_t term) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i < count) data[i] = data[i] * factor + term;
}

__global__ void take_time_kernel(std::int64_t nanoseconds, volatile int* done) {
  unsigned long long start = 0, now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - start < static_cast<unsigned long long>(nanoseconds));
  *done = 1;
}

__global__ void nothing_kernel() {}

__global__ void marked_add_kernel(imbrex::kernel_mark mark, std::int64_t* data, std::int64_t count, std::int64_t term) {
  const std::int64_t i = blockIdx.x * static_cast<std::int64_t>(blockDim.x) + threadIdx.x;
  if (i < count) data[i] += term;
  mark.reached();
}

template <int which>
__global__ void late_kernel(volatile int* done) {
  *done = 1;
}

__global__ void bad_write_kernel(volatile int* where) { *where = 1; }

}  // namespace

namespace imbrex_test {

void multiply_add(imbrex::stream& s, std::int64_t* data, std::int64_t count, std::int64_t factor, std::int64_t term) {
  if (count == 0) return;
  imbrex::launch(s, "multiply_add", multiply_add_kernel, dim3(static_cast<unsigned>((count + 255) / 256)), dim3(256), 0,
                 data, count, factor, term);
}

void marked_add(imbrex::stream& s, std::int64_t* data, std::int64_t count, std::int64_t term) {
  imbrex::launch_marked(s, "marked_add", marked_add_kernel, dim3(static_cast<unsigned>((count + 255) / 256)), dim3(256),
                        0, data, count, term);
}

void take_time(imbrex::stream& s, std::int64_t microseconds, int* done) {
  imbrex::launch(s, "take_time", take_time_kernel, dim3(1), dim3(1), 0, microseconds * 1000, done);
}

void launch_with_too_many_threads(imbrex::stream& s) {
  imbrex::launch(s, "too_many_threads", nothing_kernel, dim3(1), dim3(4096), 0);
}

void launch_for_the_first_time(imbrex::stream& s, int which, int* done) {
  void (*const kernels[])(volatile int*) = {late_kernel<0>, late_kernel<1>, late_kernel<2>, late_kernel<3>};
  imbrex::launch(s, "late", kernels[which], dim3(1), dim3(1), 0, done);
}

void write_where_nothing_is(imbrex::stream& s) {
  imbrex::launch(s, "bad_write", bad_write_kernel, dim3(1), dim3(1), 0, reinterpret_cast<int*>(8));
}

}  // namespace imbrex_test
