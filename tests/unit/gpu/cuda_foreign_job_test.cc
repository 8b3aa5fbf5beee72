// Memory that imbrex did not allocate, in whole jobs: by channels, GPU messages, puts and gets, every way.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <imbrex/interop.h>

#include <numeric>

#include "gpu_fixture.h"
#include "unit/object/job.h"

namespace cuda_foreign_job_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t n = 30'000;
enum class from { cuda_malloc, pool, managed };

/// Of the GPU that is current; freed at the end.
struct foreign {
  explicit foreign(from how) {
    switch (how) {
      case from::cuda_malloc: EXPECT_EQ(cudaMalloc(&memory, n * sizeof(int)), cudaSuccess); break;
      case from::pool: allocate_from_pool(); break;
      case from::managed:
        EXPECT_EQ(cudaMallocManaged(&memory, n * sizeof(int), cudaMemAttachGlobal), cudaSuccess);
        break;
    }
  }
  ~foreign() { EXPECT_EQ(cudaFree(memory), cudaSuccess); }
  foreign(const foreign&) = delete;
  void allocate_from_pool() {
    cudaStream_t s = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaMallocAsync(&memory, n * sizeof(int), s), cudaSuccess);
    EXPECT_EQ(cudaStreamSynchronize(s), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  }
  int* data() const { return static_cast<int*>(memory); }
  void* memory = nullptr;
};

/// Two of these exchange numbers that tell whose they are.
struct user : chare<user, index1d> {
  task<bool> exchange(int how) {
    const auto by = static_cast<from>(how);
    EXPECT_EQ(cudaSetDevice(on_device().number()), cudaSuccess);
    const foreign out_memory(by), in_memory(by);
    const int mine = 1000 * static_cast<int>(index().x), theirs = 1000 - mine;
    bool good = true;
    {
      const foreign_memory<int> out(on_device(), out_memory.data(), n), in(on_device(), in_memory.data(), n);
      buffer<int> host(on_device(), n, memory_kind::pinned);
      stream& s = streams().compute;
      channel<int> other(*this, array()[1 - index()], 0, 0, out.kind());
      exposed<int> window(in.view(), on_device());
      const global_pointer<int> here = window.pointer();
      co_await barrier();
      std::iota(host.data(), host.data() + n, mine);
      s.copy(out.data(), host.data(), n * sizeof(int));
      auto sent = other.send(out, s);
      co_await other.recv(in, s);
      co_await sent;
      s.copy(host.data(), in.data(), n * sizeof(int));
      co_await s.done();
      good = good && holds(host, theirs);
      co_await barrier();

      device_view<int> view(out, s);
      auto lent = view.lent();
      array()[1 - index()].send<&user::take>(std::move(view));
      const auto [right] = co_await taken();
      good = good && right;
      co_await lent;
      s.fill(in.data(), 0, n * sizeof(int));
      co_await s.done();
      co_await barrier();

      array()[1 - index()].send<&user::window_of_other>(here);
      const auto [there] = co_await window_of_other();
      auto put_there = put(there, out.view(), s);
      co_await put_there;
      co_await barrier();
      s.copy(host.data(), in.data(), n * sizeof(int));
      s.fill(out.data(), 0, n * sizeof(int));
      co_await s.done();
      good = good && holds(host, theirs);
      auto got = get(there, out.view(), s);
      co_await got;
      s.copy(host.data(), out.data(), n * sizeof(int));
      co_await s.done();
      good = good && holds(host, mine);
      co_await barrier();
    }
    co_return good;
  }
  task<> take(device_view<int> view) {
    buffer<int> seen(on_device(), n, memory_kind::pinned);
    view.stream().copy(seen.data(), view.data(), n * sizeof(int));
    co_await view.stream().done();
    array()[index()].send<&user::taken>(holds(seen, 1000 - 1000 * static_cast<int>(index().x)));
  }
  static bool holds(const buffer<int>& b, int first) {
    bool all = true;
    for (std::size_t i = 0; i < n; ++i) all = all && b.data()[i] == first + static_cast<int>(i);
    return all;
  }
  slot<bool> taken;
  slot<global_pointer<int>> window_of_other;
};

task<int> exchanged(runtime& rt, int how) {
  auto both = rt.create_array<user>(index1d(2));
  auto a = both[0].call<&user::exchange>(how), b = both[1].call<&user::exchange>(how);
  auto all = when_all(std::move(a), std::move(b));
  const auto [x, y] = co_await std::move(all);
  co_return x&& y ? 0 : 1;
}

TEST(cuda_foreign_job, memory_goes_wherever_buffers_go) {
  SKIP_WITHOUT_GPU(1);
  for (const from how : {from::cuda_malloc, from::pool, from::managed}) {
    for (const job_shape& shape : {job_shape{1, 1}, job_shape{2, 1}, job_shape{1, 2}}) {
      for (const char* protocol : {"auto", "direct", "shared", "staged", "packed"}) {
        SCOPED_TRACE(to_text(shape) + ", " + protocol + ", memory " + std::to_string(static_cast<int>(how)));
        command_line line(shape, {"--imbrex-device=cuda", std::string("--imbrex-protocol=") + protocol});
        EXPECT_EQ(run(line.count(), line.values(), exchanged, static_cast<int>(how)), 0);
      }
    }
  }
}

}  // namespace

}  // namespace cuda_foreign_job_test
