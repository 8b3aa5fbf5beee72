// Dynamic shared memory of kernels: beyond 48 KiB a kernel has to be allowed it, on each GPU by itself.
#include "fake_gpu_fixture.h"
#include "imbrex/device/cuda/cuda_launch.h"

namespace shared_memory_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

void some_kernel(int) {}

struct shared_memory : fake_gpus {
  static void launch(cuda_stream& s, std::size_t bytes) {
    detail::cuda_launch at(s, "large");
    int argument = 0;
    void* places[] = {&argument, nullptr};
    at.run(reinterpret_cast<const void*>(&some_kernel), dim3(1), dim3(32), bytes,
           detail::values_of(&some_kernel, places));
  }
};

TEST_F(shared_memory, kernels_get_what_they_ask_for_on_every_gpu) {
  open();
  cuda_stream &first = make(0, "first"), &second = make(1, "second");
  for (const std::size_t kib : {16, 48, 49, 120, 227}) {
    EXPECT_NO_THROW(launch(first, kib << 10)) << kib;
    EXPECT_NO_THROW(launch(second, kib << 10)) << kib;
  }
}

TEST_F(shared_memory, more_than_a_gpu_has_is_an_error_that_names_the_kernel) {
  open();
  cuda_stream& s = make(0, "stream");
  try {
    launch(s, std::size_t{228} << 10);
    FAIL() << "nobody has noticed";
  } catch (const device_error& e) {
    EXPECT_THAT(e.what(), testing::AllOf(testing::HasSubstr("large"), testing::HasSubstr("233472 bytes")));
  }
}

}  // namespace

}  // namespace shared_memory_test
