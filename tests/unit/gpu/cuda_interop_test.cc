// Calls of other libraries, and streams, events and memory that are not imbrex's, with a real driver.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <imbrex/interop.h>

#include <numeric>

#include "gpu_fixture.h"
#include "imbrex/base/error.h"
#include "imbrex/device/copy.h"
#include "imbrex/device/cuda/cuda_stream.h"
#include "test_kernels.h"
#ifdef IMBREX_TEST_CUBLAS
#include <cublas_v2.h>
#endif

namespace cuda_interop_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t n = 100'000;

task<> wait_for(stream* s) { co_await s->done(); }

/// Memory of cudaMalloc, as other libraries have it.
struct plain_memory {
  explicit plain_memory(std::size_t b) : bytes(b) { EXPECT_EQ(cudaMalloc(&at, b), cudaSuccess); }
  ~plain_memory() { EXPECT_EQ(cudaFree(at), cudaSuccess); }
  plain_memory(const plain_memory&) = delete;
  void* at = nullptr;
  std::size_t bytes;
};

struct cuda_interop : testing::TestWithParam<completion_mode> {
  void SetUp() override {
    SKIP_WITHOUT_GPU(1);
    gpu = std::make_unique<gpu_pe>(GetParam());
    ASSERT_EQ(cudaStreamCreateWithFlags(&theirs, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (theirs != nullptr) {
      EXPECT_EQ(cudaStreamDestroy(theirs), cudaSuccess);
    }
  }
  device& on() { return *gpu->devices[0]; }
  std::unique_ptr<stream> make() { return on().make_stream(stream_priority::low, "the stream of a test"); }
  /// Some milliseconds of work.
  static void keep_busy(cudaStream_t s, const plain_memory& large) {
    for (int i = 0; i < 40; ++i) EXPECT_EQ(cudaMemsetAsync(large.at, i, large.bytes, s), cudaSuccess);
  }

  std::unique_ptr<gpu_pe> gpu;
  cudaStream_t theirs = nullptr;
};

TEST_P(cuda_interop, calls_run_in_order_and_are_awaited) {
  const plain_memory large(std::size_t{256} << 20);
  auto s = make();
  buffer<std::int64_t> data(on(), n), host(on(), n, memory_kind::pinned);
  std::fill_n(host.data(), n, 1);
  copy(data.view(), buffer_view<const std::int64_t>(host), *s);
  multiply_add(*s, data.data(), n, 0, 5);
  const cudaError_t status = enqueue_native(*s, "memset", [&](cudaStream_t native) {
    keep_busy(native, large);
    return cudaMemsetAsync(data.data(), 0, n / 2 * sizeof(std::int64_t), native);
  });
  EXPECT_EQ(status, cudaSuccess);
  multiply_add(*s, data.data(), n, 3, 1);
  copy(host.view(), buffer_view<const std::int64_t>(data), *s);
  gpu->run(wait_for(s.get()));
  EXPECT_EQ(host.data()[0], 1);
  EXPECT_EQ(host.data()[n / 2 - 1], 1);
  EXPECT_EQ(host.data()[n / 2], 16);
  EXPECT_EQ(host.data()[n - 1], 16);
}

TEST_P(cuda_interop, a_call_alone_is_awaited) {
  const plain_memory large(std::size_t{256} << 20);
  auto s = make();
  enqueue_native(*s, "memset", [&](cudaStream_t native) { keep_busy(native, large); });
  gpu->run(wait_for(s.get()));
  EXPECT_EQ(cudaStreamQuery(static_cast<imbrex::cuda_stream&>(*s).native()), cudaSuccess);
}

TEST_P(cuda_interop, an_error_that_a_call_leaves_behind_is_named) {
  auto s = make();
  try {
    enqueue_native(*s, "a wrong call",
                   [](cudaStream_t native) { static_cast<void>(cudaMemsetAsync(nullptr, 0, 100, native)); });
    FAIL() << "nothing was thrown";
  } catch (const device_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("a wrong call"));
    EXPECT_THAT(e.what(), testing::HasSubstr("the stream of a test"));
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  gpu->run(wait_for(s.get()));
}

TEST_P(cuda_interop, streams_of_others_go_before_and_after) {
  const plain_memory large(std::size_t{256} << 20), value(n);
  auto s = make();
  buffer<unsigned char> host(on(), n, memory_kind::pinned);
  for (int round = 0; round < 5; ++round) {
    keep_busy(theirs, large);
    ASSERT_EQ(cudaMemsetAsync(value.at, 7 + round, n, theirs), cudaSuccess);
    after_native(*s, theirs);
    s->copy(host.data(), value.at, n);
    native_after(theirs, *s);
    ASSERT_EQ(cudaMemsetAsync(value.at, 99, n, theirs), cudaSuccess);
    gpu->run(wait_for(s.get()));
    EXPECT_EQ(host.data()[0], 7 + round);
    EXPECT_EQ(host.data()[n - 1], 7 + round);
  }
  ASSERT_EQ(cudaStreamSynchronize(theirs), cudaSuccess);
}

TEST_P(cuda_interop, streams_that_have_no_handle_go_before) {
  const plain_memory large(std::size_t{256} << 20), value(n);
  auto s = make();
  buffer<unsigned char> host(on(), n, memory_kind::pinned);
  for (cudaStream_t other : {cudaStream_t(nullptr), cudaStreamPerThread}) {
    keep_busy(other, large);
    ASSERT_EQ(cudaMemsetAsync(value.at, 3, n, other), cudaSuccess);
    after_native(*s, other);
    s->copy(host.data(), value.at, n);
    gpu->run(wait_for(s.get()));
    EXPECT_EQ(host.data()[n - 1], 3);
    ASSERT_EQ(cudaMemset(value.at, 0, n), cudaSuccess);
  }
}

TEST_P(cuda_interop, events_of_others_are_waited_for_and_recorded_into) {
  const plain_memory large(std::size_t{256} << 20), value(n);
  cudaEvent_t e = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&e, cudaEventDisableTiming), cudaSuccess);
  auto s = make();
  buffer<unsigned char> host(on(), n, memory_kind::pinned);
  keep_busy(theirs, large);
  ASSERT_EQ(cudaMemsetAsync(value.at, 4, n, theirs), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(e, theirs), cudaSuccess);
  wait_for(*s, e);
  s->copy(host.data(), value.at, n);
  record_into(*s, e);
  ASSERT_EQ(cudaStreamWaitEvent(theirs, e, 0), cudaSuccess);
  ASSERT_EQ(cudaMemsetAsync(value.at, 99, n, theirs), cudaSuccess);
  gpu->run(wait_for(s.get()));
  EXPECT_EQ(host.data()[n - 1], 4);
  ASSERT_EQ(cudaStreamSynchronize(theirs), cudaSuccess);
  EXPECT_EQ(cudaEventDestroy(e), cudaSuccess);
}

TEST_P(cuda_interop, calls_and_streams_of_others_are_parts_of_graphs) {
  const plain_memory a(n), b(n);
  auto s = make();
  buffer<unsigned char> host_a(on(), n, memory_kind::pinned), host_b(on(), n, memory_kind::pinned);
  const auto g = s->capture([&] {
    enqueue_native(*s, "memset",
                   [&](cudaStream_t native) { EXPECT_EQ(cudaMemsetAsync(a.at, 5, n, native), cudaSuccess); });
    native_after(theirs, *s);
    EXPECT_EQ(cudaMemcpyAsync(b.at, a.at, n, cudaMemcpyDefault, theirs), cudaSuccess);
    after_native(*s, theirs);
    s->copy(host_b.data(), b.at, n);
  });
  EXPECT_EQ(g->num_operations(), 3U);
  for (int round = 0; round < 2; ++round) {
    host_b.data()[n - 1] = 0;
    s->run(*g);
    gpu->run(wait_for(s.get()));
    EXPECT_EQ(host_b.data()[n - 1], 5);
  }
}

TEST_P(cuda_interop, memory_of_others_is_what_the_driver_says) {
  void *pool = nullptr, *managed = nullptr, *pinned = nullptr;
  ASSERT_EQ(cudaMallocAsync(&pool, n * sizeof(int), theirs), cudaSuccess);
  ASSERT_EQ(cudaMallocManaged(&managed, n * sizeof(int), cudaMemAttachGlobal), cudaSuccess);
  ASSERT_EQ(cudaHostAlloc(&pinned, n * sizeof(int), cudaHostAllocDefault), cudaSuccess);
  const plain_memory plain(std::size_t{4} << 20);
  std::vector<int> ordinary(n);
  {
    const foreign_memory<int> o(on(), ordinary.data(), n), h(on(), static_cast<int*>(pinned), n);
    const foreign_memory<int> c(on(), static_cast<int*>(plain.at), n), p(on(), static_cast<int*>(pool), n);
    const foreign_memory<int> m(on(), static_cast<int*>(managed), n);
    EXPECT_EQ(o.kind(), memory_kind::host);
    EXPECT_EQ(h.kind(), memory_kind::pinned);
    EXPECT_EQ(c.kind(), memory_kind::device);
    EXPECT_EQ(p.kind(), memory_kind::device);
    EXPECT_EQ(m.kind(), memory_kind::device);
    EXPECT_FALSE(on().is_staged(c.data() + n - 1));
    EXPECT_TRUE(on().is_staged(p.data() + n - 1));
    EXPECT_TRUE(on().is_staged(m.data() + n - 1));
    shared_memory as;
    EXPECT_FALSE(on().share(p.data(), as));
    EXPECT_FALSE(on().share(m.data(), as));
    buffer<int> own(on(), 1);
    EXPECT_EQ(on().share(c.data() + 10, as), on().share(own.data(), as)) << "cudaMalloc's is as good as a slab";

    auto s = make();
    after_native(*s, theirs);
    buffer<int> host(on(), n, memory_kind::pinned);
    std::iota(host.data(), host.data() + n, 0);
    for (const buffer_view<int> v : {c.view(), p.view(), m.view(), h.view()}) {
      copy(v, buffer_view<const int>(host), *s);
      s->copy(ordinary.data(), v.data, n * sizeof(int));
      gpu->run(wait_for(s.get()));
      EXPECT_EQ(ordinary[n - 1], static_cast<int>(n) - 1);
      ordinary[n - 1] = 0;
    }
  }
  EXPECT_THROW(foreign_memory<int>(on(), static_cast<int*>(plain.at), std::size_t{1} << 30), usage_error);
  EXPECT_EQ(cudaFreeAsync(pool, theirs), cudaSuccess);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

#ifdef IMBREX_TEST_CUBLAS
TEST_P(cuda_interop, products_of_cublas_are_operations_of_the_stream) {
  constexpr int size = 64;
  constexpr std::size_t elements = std::size_t{size} * size;
  auto s = make();
  cublasHandle_t handle = nullptr;
  ASSERT_EQ(cublasCreate(&handle), CUBLAS_STATUS_SUCCESS);
  buffer<double> a(on(), elements), x(on(), elements), y(on(), elements), host(on(), elements, memory_kind::pinned);
  buffer<char> workspace(on(), std::size_t{4} << 20);
  for (std::size_t i = 0; i < elements; ++i) host.data()[i] = static_cast<double>(i % 3);
  copy(a.view(), buffer_view<const double>(host), *s);
  copy(x.view(), buffer_view<const double>(host), *s);
  const double one = 1, zero = 0;
  const auto product = [&] {
    enqueue_native(*s, "cublasDgemm", [&](cudaStream_t native) {
      EXPECT_EQ(cublasSetStream(handle, native), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(cublasSetWorkspace(handle, workspace.data(), workspace.size()), CUBLAS_STATUS_SUCCESS);
      EXPECT_EQ(cublasDgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, a.data(), size, x.data(), size,
                            &zero, y.data(), size),
                CUBLAS_STATUS_SUCCESS);
    });
  };
  std::vector<double> expected(elements);
  for (std::size_t j = 0; j < size; ++j) {
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t k = 0; k < size; ++k)
        expected[i + j * size] += static_cast<double>((i + k * size) % 3) * static_cast<double>((k + j * size) % 3);
    }
  }
  product();
  copy(host.view(), buffer_view<const double>(y), *s);
  gpu->run(wait_for(s.get()));
  EXPECT_EQ(std::vector<double>(host.data(), host.data() + elements), expected);

  const auto g = s->capture(product);
  s->fill(y.data(), 0, y.size() * sizeof(double));
  s->run(*g);
  copy(host.view(), buffer_view<const double>(y), *s);
  gpu->run(wait_for(s.get()));
  EXPECT_EQ(std::vector<double>(host.data(), host.data() + elements), expected);
  s.reset();
  EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_SUCCESS);
}
#endif

INSTANTIATE_TEST_SUITE_P(modes, cuda_interop,
                         testing::Values(completion_mode::flag, completion_mode::event, completion_mode::callback,
                                         completion_mode::sync),
                         [](const auto& mode) { return std::string(to_string(mode.param)); });

}  // namespace

}  // namespace cuda_interop_test
