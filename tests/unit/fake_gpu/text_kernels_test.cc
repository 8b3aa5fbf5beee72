// Kernels from strings, compiled by NVRTC, which needs no GPU.
#include "imbrex/text_kernels.h"
#include "fake_gpu_fixture.h"
#include "imbrex/base/error.h"

namespace text_kernels_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

using text_kernels_on_gpus = fake_gpus;

constexpr const char* text = R"(
IX_KERNEL(all_of_it, (int n, float a, IX_GLOBAL IX_HALF* h, IX_GLOBAL const IX_DOUBLE2* IX_RESTRICT in, IX_GLOBAL double* out)) {
  IX_SHARED double tile[8];
  IX_PRIVATE(double, mine);
  IX_GROUP_VALUE(double, total);
  IX_ITEMS { IX_MY(mine) = 0; tile[IX_LOCAL_ID(0) % 8] = 1; }
  IX_ITEMS_BELOW(n) {
    IX_DOUBLE2 both = IX_LOAD_DOUBLE2((IX_GLOBAL const double*)(in + IX_GLOBAL_ID(0)));
    IX_MY(mine) = sqrt(both.x) + tile[0] * IX_MAX(a, 1.0f);
    IX_STORE_HALF(h + IX_GLOBAL_ID(0), a * IX_LOAD_HALF(h + IX_GLOBAL_ID(0)));
  }
  IX_GROUP_SUM(total, mine);
  IX_ITEMS { if (IX_LOCAL_ID(0) == 0) IX_ATOMIC_ADD(out, total); }
}
IX_KERNEL_RESIDENT(other, (16, 8, 1), 2, (IX_GLOBAL int* x)) { IX_ITEMS { x[0] = 1; printf("%d", x[0]); } }
)";

TEST_F(text_kernels_on_gpus, are_compiled_once_for_all_gpus_of_a_kind) {
  open();
  const text_kernels all(text);
  if (!all.get("other").runs_on_cuda()) GTEST_SKIP() << "libnvrtc was not found";
  const int before = fake_cuda::calls_of("cudaLibraryLoadData");
  int n = 10;
  float a = 2;
  void *h = nullptr, *in = nullptr, *out = nullptr;
  void* places[] = {&n, &a, &h, &in, &out};
  for (int number = 0; number < 2; ++number) {
    for (int again = 0; again < 2; ++again) {
      cuda_stream& s = make(number, "s");
      launch(s, all.get("all_of_it"), launch_shape::over(10), places);
      launch(s, all.get("other"), {.groups = {1}, .group = {16, 8}}, &places[2]);
    }
  }
  EXPECT_EQ(fake_cuda::calls_of("cudaLibraryLoadData"), before + 1);
}

TEST_F(text_kernels_on_gpus, mistakes_are_named_with_their_line) {
  open();
  const text_kernels all("IX_KERNEL(wrong, (IX_GLOBAL int* x)) {\n  IX_ITEMS { x[0] = nonsense; }\n}", "mine.txt");
  if (!all.get("wrong").runs_on_cuda()) GTEST_SKIP() << "libnvrtc was not found";
  void* x = nullptr;
  void* places[] = {&x};
  try {
    launch(make(0, "s"), all.get("wrong"), launch_shape::over(1), places);
    ADD_FAILURE() << "launched";
  } catch (const usage_error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("mine.txt(2)"), testing::HasSubstr("nonsense")));
  }
}

}  // namespace

}  // namespace text_kernels_test
