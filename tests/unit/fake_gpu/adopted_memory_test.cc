// Memory that imbrex did not allocate: what it is found to be, who reaches it, and which way it goes to other
// processes.
#include <imbrex/interop.h>

#include <numeric>

#include "fake_gpu_fixture.h"
#include "imbrex/base/error.h"
#include "imbrex/comm/data/data_mover.h"
#include "imbrex/device/host/host_device.h"

namespace adopted_memory_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t n = 30'000;
enum class from { cuda_malloc, pool, managed };

void* allocate(from how, std::size_t bytes, int gpu = 0) {
  void* memory = nullptr;
  EXPECT_EQ(cudaSetDevice(gpu), cudaSuccess);
  if (how == from::cuda_malloc) {
    EXPECT_EQ(cudaMalloc(&memory, bytes), cudaSuccess);
  } else if (how == from::managed) {
    EXPECT_EQ(cudaMallocManaged(&memory, bytes, cudaMemAttachGlobal), cudaSuccess);
  } else {
    cudaStream_t s = nullptr;
    EXPECT_EQ(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaMallocAsync(&memory, bytes, s), cudaSuccess);
    EXPECT_EQ(cudaStreamDestroy(s), cudaSuccess);
  }
  return memory;
}

/// Freed at the end.
struct foreign {
  explicit foreign(from how, std::size_t count = n, int gpu = 0)
      : data(static_cast<int*>(allocate(how, count * sizeof(int), gpu))) {}
  ~foreign() { EXPECT_EQ(cudaFree(data), cudaSuccess); }
  foreign(const foreign&) = delete;
  int* data;
};

template <class E, class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

struct adopted : fake_gpus {
  void SetUp() override { open(); }
  bool is_shared(const void* memory, shared_memory& as) { return gpu->machine.gpu(0).shared().share(memory, as); }
};

TEST_F(adopted, is_of_the_kind_that_the_driver_says) {
  std::vector<int> ordinary(100);
  void* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(&pinned, 4096, cudaHostAllocDefault), cudaSuccess);
  const foreign a(from::cuda_malloc), b(from::pool), c(from::managed);
  EXPECT_EQ(foreign_memory<int>(device(0), ordinary.data(), 100).kind(), memory_kind::host);
  EXPECT_EQ(foreign_memory<int>(device(0), static_cast<int*>(pinned), 100).kind(), memory_kind::pinned);
  EXPECT_EQ(foreign_memory<int>(device(0), a.data, n).kind(), memory_kind::device);
  EXPECT_EQ(foreign_memory<int>(device(0), b.data, n).kind(), memory_kind::device);
  EXPECT_EQ(foreign_memory<int>(device(0), c.data, n).kind(), memory_kind::device);
  const foreign_memory<const int> read_only(device(0), a.data + 10, 20);
  EXPECT_EQ(buffer_view<const int>(read_only).data, a.data + 10);
  host_memory memory;
  host_device host(gpu->pe.queue, 0, memory);
  EXPECT_EQ(foreign_memory<int>(host, ordinary.data(), 100).view().kind, memory_kind::host);
  cudaFreeHost(pinned);
}

TEST_F(adopted, is_asked_about_once_and_known_from_every_gpu) {
  const foreign pool(from::pool), managed(from::managed), plain(from::cuda_malloc);
  EXPECT_FALSE(device(0).is_staged(pool.data));
  {
    const foreign_memory<int> p(device(0), pool.data, n), m(device(0), managed.data, n), c(device(0), plain.data, n);
    const int asked = fake_cuda::calls_of("cudaPointerGetAttributes");
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(device(i).is_staged(pool.data));
      EXPECT_TRUE(device(i).is_staged(pool.data + n - 1));
      EXPECT_TRUE(device(i).is_staged(managed.data + 7));
      EXPECT_FALSE(device(i).is_staged(plain.data));
      const buffer<int> own(device(i), 100);
      EXPECT_FALSE(device(i).is_staged(own.data()));
    }
    EXPECT_EQ(fake_cuda::calls_of("cudaPointerGetAttributes"), asked);
  }
  EXPECT_FALSE(device(0).is_staged(pool.data)) << "it was let go";
}

TEST_F(adopted, is_known_until_its_last_piece_goes) {
  const foreign pool(from::pool);
  foreign_memory<int> kept;
  {
    foreign_memory<int> a(device(0), pool.data, 100), b(device(0), pool.data + 100, 100),
        again(device(0), pool.data, 50);
    kept = std::move(b);
  }
  EXPECT_TRUE(device(0).is_staged(pool.data));
  kept = {};
  EXPECT_FALSE(device(0).is_staged(pool.data));
}

TEST_F(adopted, of_another_gpu_or_longer_than_it_is_is_refused_in_words) {
  const foreign there(from::cuda_malloc, n, 1), here(from::cuda_malloc, 1024);
  EXPECT_THAT(message_of<usage_error>([&] { foreign_memory<int>(device(0), there.data, n); }),
              testing::AllOf(testing::HasSubstr("GPU 1"), testing::HasSubstr("GPU 0")));
  EXPECT_THAT(message_of<usage_error>([&] { foreign_memory<int>(device(0), here.data + 100, 1024); }),
              testing::HasSubstr("3696"));
  EXPECT_NO_THROW(foreign_memory<int>(device(0), here.data + 100, 924));
}

TEST_F(adopted, memory_of_cuda_malloc_is_read_by_other_processes_where_it_is) {
  const foreign a(from::cuda_malloc, 1 << 20), small(from::cuda_malloc);
  a.data[20] = 77;
  shared_memory as;
  EXPECT_FALSE(is_shared(a.data, as)) << "nobody said what it is";
  std::vector<shared_memory> stale;
  {
    const foreign_memory<int> mine(device(0), a.data + 10, 100), too_small(device(0), small.data, n);
    EXPECT_FALSE(is_shared(small.data, as)) << "others would open what lies beside it";
    ASSERT_TRUE(is_shared(a.data + 20, as));
    EXPECT_EQ(*reinterpret_cast<const int*>(gpu->machine.gpu(1).shared().open(as)), 77);
    EXPECT_EQ(fake_cuda::calls_of("cudaIpcGetMemHandle"), 1);
    ASSERT_TRUE(is_shared(a.data + 30, as));
    EXPECT_EQ(fake_cuda::calls_of("cudaIpcGetMemHandle"), 1);
  }
  EXPECT_FALSE(is_shared(a.data, as)) << "it was let go";
  const buffer<int> own(device(0), 10);
  ASSERT_TRUE(is_shared(own.data(), as));
  gpu->machine.gpu(1).shared().open(as);  // brings the news
  EXPECT_EQ(fake_cuda::num_open_handles(), 1) << "the other process has let go of it, too";
}

TEST_F(adopted, memory_of_pools_and_managed_memory_are_not_and_nothing_else_suffers) {
  const foreign pool(from::pool), managed(from::managed);
  const foreign_memory<int> p(device(0), pool.data, n), m(device(0), managed.data, n);
  shared_memory as;
  EXPECT_FALSE(is_shared(pool.data, as));
  EXPECT_FALSE(is_shared(managed.data, as));
  EXPECT_EQ(fake_cuda::calls_of("cudaIpcGetMemHandle"), 0);
  const buffer<int> own(device(0), 10);
  EXPECT_TRUE(is_shared(own.data(), as));
}

TEST_F(adopted, memory_of_a_pool_is_pulled_by_gpus_beside) {
  const foreign pool(from::pool), plain(from::cuda_malloc);
  const foreign_memory<int> p(device(0), pool.data, n), c(device(0), plain.data, n);
  cuda_stream &s = make(0, "source"), &t = make(1, "reader");
  buffer<int> to(device(1), n);
  for (const int* memory : {p.data(), c.data()}) {
    s.fill(const_cast<int*>(memory), 1, n * sizeof(int));
    t.pull(s.record_for_others(), to.data(), memory, n * sizeof(int));
    gpu->run([](stream* last) -> task<> { co_await last->done(); }(&t));
    EXPECT_EQ(to.data()[n - 1], 0x01010101);
    to.data()[n - 1] = 0;
  }
}  // the fixture looks for what GPUs did not reach

TEST_F(adopted, memory_of_a_pool_that_may_not_be_shared_is_refused_where_there_are_two_gpus) {
  streams.clear();
  gpu.reset();
  open({.gpus = 2, .shares_pools = false});
  const foreign pool(from::pool);
  EXPECT_THAT(message_of<usage_error>([&] { foreign_memory<int>(device(0), pool.data, n); }),
              testing::AllOf(testing::HasSubstr("GPU 1"), testing::HasSubstr("--imbrex-gpus=1")));
  EXPECT_FALSE(device(0).is_staged(pool.data));
}

TEST_F(adopted, memory_of_a_pool_needs_nothing_where_there_is_one_gpu) {
  streams.clear();
  gpu.reset();
  open({.gpus = 1, .shares_pools = false});
  const foreign pool(from::pool);
  EXPECT_NO_THROW(foreign_memory<int>(device(0), pool.data, n));
  EXPECT_EQ(fake_cuda::calls_of("cudaMemPoolSetAccess"), 0);
}

TEST(adopted_pieces, are_told_to_whom_it_may_concern_unless_they_are_staged) {
  adopted_memory all;
  std::vector<std::pair<const std::byte*, bool>> told;
  all.watch([&](std::byte* start, std::size_t, memory_kind, int, bool comes) { told.emplace_back(start, comes); });
  alignas(64) std::byte memory[300];
  adopted_memory::allocation pinned{memory, 100, memory_kind::pinned}, pool{memory + 100, 100, memory_kind::device, 0};
  pool.is_staged = true;
  all.add(memory + 10, 20, pinned);
  all.add(memory + 10, 10, pinned);
  all.add(memory + 120, 20, pool);
  EXPECT_TRUE(all.is_staged(memory + 199));
  EXPECT_FALSE(all.is_staged(memory + 200));
  EXPECT_EQ(all.remove(memory + 250, 10).start, nullptr) << "was never added";
  EXPECT_EQ(all.remove(memory + 120, 20).start, memory + 100);
  EXPECT_EQ(all.remove(memory + 10, 10).start, nullptr);
  EXPECT_EQ(all.remove(memory + 10, 20).start, memory);
  const std::vector<std::pair<const std::byte*, bool>> expected{{memory + 10, true}, {memory + 10, false}};
  EXPECT_EQ(told, expected);
}

// ---------------------------------------------------------------------------------------- to other processes

/// Takes memory of GPUs, and notes where it was to read from or write to.
struct noting_transport final : transport {
  rank_id rank() const override { return 0; }
  int num_ranks() const override { return 2; }
  std::string name() const override { return "noting"; }
  void start(const delivery&) override {}
  void send(rank_id, wire_message*) override {}
  bool poll() override { return false; }
  bool needs_polling() const override { return false; }
  bool reaches(memory_kind) const override { return true; }
  void send_data(rank_id, pe_id, std::uint64_t, const data_view& v, transfer* done) override {
    sent.push_back(v);
    done->complete();
  }
  void recv_data(rank_id, std::uint64_t, const data_view& v, transfer* done) override {
    received.push_back(v);
    std::memset(v.data, 9, v.bytes);
    done->complete();
  }
  job_end stop(const job_end& mine) override { return mine; }
  std::vector<std::vector<std::byte>> all_gather(const std::vector<std::byte>&) override { return {}; }
  [[noreturn]] void abort(int) override { throw comm_error("aborted"); }
  std::vector<data_view> sent, received;
};

struct adopted_between_processes : fake_gpus {
  void SetUp() override {
    open({.gpus = 1});
    mover = std::make_unique<data_mover>(gpu->pe.queue, network, 0, 0, sharing, protocol_table());
  }
  void TearDown() override {
    mover.reset();
    fake_gpus::TearDown();
  }
  void turn() {
    for (int i = 0; i < 50; ++i) {
      gpu->pe.run();
      gpu->completion->ensure_noticed();
      gpu->completion->poll();
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }
  lent_buffer lend(const int* data, std::size_t count) {
    lent_state* const state = lent_state::make();
    lent_buffer held(reinterpret_cast<const std::byte*>(data), count * sizeof(int), state);
    state->release();
    return held;
  }

  noting_transport network;
  const memory_sharing sharing{{false, false}, {false, false}};
  std::unique_ptr<data_mover> mover;
};

TEST_F(adopted_between_processes, is_read_by_the_network_only_where_that_works) {
  using path = remote_data::path;
  cuda_stream& s = make(0, "a stream");
  for (const from how : {from::cuda_malloc, from::pool, from::managed}) {
    const bool direct = how == from::cuda_malloc;
    const foreign memory(how);
    const foreign_memory<int> mine(device(0), memory.data, n);
    std::iota(memory.data, memory.data + n, 0);
    EXPECT_EQ(data_mover::within_reach(path::whole, s, memory.data), direct ? path::whole : path::chunks);
    EXPECT_EQ(data_mover::within_reach(path::none, s, memory.data), path::none);
    const remote_data d = mover->offer(s, lend(memory.data, n));
    EXPECT_EQ(d.by, direct ? path::whole : path::chunks);
    network.sent.clear();
    mover->serve(d.id, 1, 1);
    turn();
    ASSERT_FALSE(network.sent.empty());
    for (const data_view& v : network.sent) EXPECT_EQ(v.kind, direct ? memory_kind::device : memory_kind::pinned);
    if (direct) {
      EXPECT_EQ(network.sent[0].data, reinterpret_cast<std::byte*>(memory.data));
    }
  }
}

TEST_F(adopted_between_processes, is_written_by_the_network_only_where_that_works) {
  cuda_stream& s = make(0, "a stream");
  for (const from how : {from::cuda_malloc, from::pool, from::managed}) {
    const bool direct = how == from::cuda_malloc;
    const foreign memory(how);
    const foreign_memory<int> mine(device(0), memory.data, n);
    memory.data[n - 1] = 0;
    remote_data d;
    d.by = remote_data::path::whole;
    d.rank = 1;
    d.bytes = n * sizeof(int);
    network.received.clear();
    bool done = false;
    mover->fetch(d, {reinterpret_cast<std::byte*>(memory.data), d.bytes, memory_kind::device, 0}, &s,
                 [&] { done = true; });
    turn();
    EXPECT_TRUE(done);
    ASSERT_EQ(network.received.size(), 1U);
    EXPECT_EQ(network.received[0].kind, direct ? memory_kind::device : memory_kind::pinned);
    EXPECT_EQ(memory.data[n - 1], 0x09090909);
  }
}

}  // namespace

}  // namespace adopted_memory_test
