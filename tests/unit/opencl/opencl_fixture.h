#pragma once

#include <gmock/gmock.h>

#include <array>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "imbrex/device/copy.h"
#include "imbrex/device/opencl/opencl_devices.h"
#include "imbrex/device/opencl/opencl_stream.h"
#include "unit/async/bare_pe.h"

namespace imbrex_test {

/// Skips the test, with the reason, where OpenCL has no device that can be used.
#define SKIP_WITHOUT_OPENCL()                                          \
  do {                                                                 \
    std::string why;                                                   \
    if (imbrex::opencl_machine::count(&why) == 0) GTEST_SKIP() << why; \
  } while (false)

/// The calling thread as a PE with all devices of OpenCL, without the runtime.
struct opencl_pe {
  explicit opencl_pe(const std::filesystem::path& cache = {}) : machine(all(), cache) {
    for (int i = 0; i < machine.num_processors(); ++i)
      devices.push_back(std::make_unique<imbrex::opencl_device>(machine, machine.processor(i), pe.queue, completion));
    pe.queue.devices = &completion;
  }
  static std::vector<int> all() {
    std::vector<int> numbers;
    for (int i = 0; i < imbrex::opencl_machine::count(); ++i) numbers.push_back(i);
    return numbers;
  }
  imbrex::opencl_device& on(std::size_t i = 0) { return *devices[i]; }
  std::unique_ptr<imbrex::opencl_stream> make(std::size_t i = 0) {
    return std::make_unique<imbrex::opencl_stream>(on(i), imbrex::stream_priority::low, "the stream of a test");
  }
  void run_until(const std::function<bool()>& done) {
    while (!done()) {
      pe.run();
      completion.poll();
    }
  }
  void finish(imbrex::stream& s) {
    run_until([&] { return s.idle(); });
  }

  bare_pe pe;
  imbrex::opencl_machine machine;
  imbrex::opencl_completion completion{pe.queue};
  std::vector<std::unique_ptr<imbrex::opencl_device>> devices;
};

/// A program of a few kernels, in OpenCL C 1.2.
inline constexpr const char* test_program = R"(
kernel void multiply_add(global long* data, ulong n, long factor, long term) {
  const ulong i = get_global_id(0);
  if (i < n) data[i] = data[i] * factor + term;
}
kernel void reverse_groups(global const int* from, global int* to, local int* shared) {
  const uint i = get_local_id(0), n = get_local_size(0), first = get_group_id(0) * n;
  shared[i] = from[first + i];
  barrier(CLK_LOCAL_MEM_FENCE);
  to[first + i] = shared[n - 1 - i];
}
typedef struct { int a; float b; } pair;
kernel void store_pair(global float* to, pair p) { to[0] = p.a + p.b; }
kernel void store_place(global uint* to) {
  const uint at = (get_global_id(2) * get_global_size(1) + get_global_id(1)) * get_global_size(0) + get_global_id(0);
  to[at] = 100 * get_group_id(2) + 10 * get_group_id(1) + get_group_id(0);
}
kernel void count_up(global int* to, int rounds) {
  volatile int n = 0;
  while (n < rounds) ++n;
  to[get_global_id(0)] = n;
}
kernel void is_null(global const float* p, global int* answer) { answer[0] = p == 0; }
)";

/// data[i] = data[i] * factor + term, for n elements.
inline void multiply_add(imbrex::opencl_stream& s, std::int64_t* data, std::uint64_t n, std::int64_t factor,
                         std::int64_t term, const char* source = test_program) {
  using argument = imbrex::opencl_argument;
  const std::array arguments{argument::pointer(data), argument::value(n), argument::value(factor),
                             argument::value(term)};
  const auto groups = static_cast<unsigned>((n + 63) / 64);
  s.launch_program_kernel(source, nullptr, "multiply_add", {groups, 1, 1}, {64, 1, 1}, 0, arguments);
}

}  // namespace imbrex_test
