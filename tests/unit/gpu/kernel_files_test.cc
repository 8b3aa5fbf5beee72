// Kernels in one source on a GPU: the bits of the CPU.
#include <gmock/gmock.h>

#include <algorithm>

#include "gpu_fixture.h"
#include "imbrex/base/error.h"
#include "imbrex/device/kernel/kernel_dialect.h"
#include "unit/kernel/kernel_cases.h"
#include "unit/kernel/text_cases.h"
// After the dialect.
#include "unit/kernel/cases.hk"

using namespace imbrex;
using namespace imbrex_test;

IX_INLINE_KERNEL(add_one, (int n, IX_GLOBAL double* x), if (i < n) x[i] += 1);
IX_INLINE_KERNEL_BELOW(add_two, (int n, IX_GLOBAL double* x), n, x[i] += 2);

namespace {

struct kernel_files : testing::Test {
  void SetUp() override {
    SKIP_WITHOUT_GPU(1);
    gpu = std::make_unique<gpu_pe>(completion_mode::flag);
    s = on().make_stream(stream_priority::low, "the stream of a test");
  }
  device& on() { return *gpu->devices[0]; }
  void finish() {
    gpu->run([](stream* on) -> task<> { co_await on->done(); }(s.get()));
  }

  /// Pinned memory, which kernels reach.
  std::vector<given> run(const kernel_case& c) {
    std::vector<given> results = c.arguments;
    std::vector<void*> memory(results.size()), places(results.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      const std::vector<std::byte>& b = results[i].bytes;
      if (results[i].is_memory) {
        memory[i] = on().allocate(b.size(), memory_kind::pinned);
        std::memcpy(memory[i], b.data(), b.size());
      }
      places[i] = results[i].is_memory ? static_cast<void*>(&memory[i]) : results[i].bytes.data();
    }
    launch(*s, *c.kernel, c.shape, places.data());
    finish();
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].is_memory) continue;
      std::memcpy(results[i].bytes.data(), memory[i], results[i].bytes.size());
      on().free(memory[i], results[i].bytes.size(), memory_kind::pinned);
    }
    return results;
  }

  std::unique_ptr<gpu_pe> gpu;
  std::unique_ptr<stream> s;
};

TEST_F(kernel_files, give_the_bits_of_the_cpu) {
  for (const kernel_case& c : all_cases()) {
    const auto here = run_case_on_cpu(c), there = run(c);
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_EQ(here[i].bytes, there[i].bytes) << name_of(c) << ' ' << i;
  }
}

TEST_F(kernel_files, from_a_text_give_the_bits_of_the_cpu) {
  int num_cases = 0;
  for (kernel_case c : all_cases()) {
    if (std::string_view(c.kernel->name) == "seven_points") continue;  // it has a struct
    const auto here = run_case_on_cpu(c);
    c.kernel = &text_of(*c.kernel).get(c.kernel->name);
    if (!c.kernel->runs_on_cuda()) GTEST_SKIP() << "libnvrtc was not found";
    const auto there = run(c);
    for (std::size_t i = 0; i < here.size(); ++i) EXPECT_EQ(here[i].bytes, there[i].bytes) << name_of(c) << ' ' << i;
    ++num_cases;
  }
  EXPECT_GT(num_cases, 20);
}

TEST_F(kernel_files, a_mistake_in_a_text_has_its_line) {
  const text_kernels all("IX_KERNEL(wrong_text, (IX_GLOBAL int* x)) {\n  IX_ITEMS { x[0] = nonsense; }\n}", "mine.txt");
  const kernel_source& k = all.get("wrong_text");
  if (!k.runs_on_cuda()) GTEST_SKIP() << "libnvrtc was not found";
  int* x = nullptr;
  void* places[] = {&x};
  try {
    launch(*s, k, launch_shape::over(1), places);
    ADD_FAILURE() << "launched";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("mine.txt(2)"), testing::HasSubstr("nonsense")));
  }
}

TEST_F(kernel_files, may_use_much_dynamic_shared_memory) {
  for (kernel_case c : all_cases()) {
    if (c.kernel != &prefix_sum) continue;
    c.shape.shared_bytes = std::size_t{96} * 1024;
    EXPECT_EQ(run(c)[1].bytes, run_case_on_cpu(c)[1].bytes);
    c.shape.shared_bytes = std::size_t{64} * 1024 * 1024;
    EXPECT_THROW(run(c), device_error);
  }
}

TEST_F(kernel_files, inline_kernels) {
  constexpr std::size_t n = 1000;
  auto* x = static_cast<double*>(on().allocate(n * sizeof(double), memory_kind::pinned));
  std::fill_n(x, n, 1.5);
  launch(*s, add_one, launch_shape::over(n), static_cast<int>(n), x);
  launch(*s, add_two, launch_shape::over(n), static_cast<int>(n) - 10, x);
  finish();
  EXPECT_EQ(std::count(x, x + n, 4.5), static_cast<long>(n) - 10);
  EXPECT_EQ(std::count(x, x + n, 2.5), 10);
  on().free(x, n * sizeof(double), memory_kind::pinned);
}

TEST_F(kernel_files, a_kernel_that_was_not_built_for_cuda_says_so) {
  const kernel_case c = case_without_cuda();
  try {
    run(c);
    ADD_FAILURE() << "launched";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("kernel 'only_on_cpu' was not built for CUDA"),
                                         testing::HasSubstr("imbrex_add_kernel_files")));
  }
}

}  // namespace
