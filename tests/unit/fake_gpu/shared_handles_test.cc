// Memory that other processes read where it is: what becomes of it when its allocation is given back.
#include <cstring>

#include "fake_gpu_fixture.h"
#include "imbrex/base/error.h"

namespace shared_handles_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

constexpr std::size_t MiB = std::size_t{1} << 20;

/// GPU 0 shares, GPU 1 opens, as another process would.
struct shared_handles : fake_gpus {
  void SetUp() override { open(); }
  slab_pool& pool() { return gpu->machine.gpu(0).pool(); }
  shared_memory shared(const void* memory) {
    shared_memory m;
    EXPECT_TRUE(gpu->machine.gpu(0).shared().share(memory, m));
    return m;
  }
  const std::byte* opened(const shared_memory& m) { return gpu->machine.gpu(1).shared().open(m); }
  void* allocate(std::byte value) {
    void* const memory = pool().allocate(MiB, "a test");
    std::memset(memory, std::to_integer<int>(value), MiB);
    return memory;
  }
  void give_back(void* memory) {
    pool().free(memory);
    EXPECT_GT(pool().trim(), 0U);
  }
};

TEST_F(shared_handles, of_an_address_used_again_are_of_other_memory) {
  void* const first = allocate(std::byte{1});
  EXPECT_EQ(*opened(shared(first)), std::byte{1});
  give_back(first);
  void* const second = allocate(std::byte{2});
  ASSERT_EQ(first, second) << "the driver gives the address again";
  EXPECT_EQ(*opened(shared(second)), std::byte{2});
  EXPECT_EQ(fake_cuda::num_open_handles(), 1) << "the memory of before is let go";
  give_back(second);
}

TEST_F(shared_handles, are_let_go_when_their_owner_says_that_the_memory_is_gone) {
  void* const kept = pool().allocate(300 * MiB, "a test");
  void* const gone = allocate(std::byte{3});
  opened(shared(kept));
  opened(shared(gone));
  EXPECT_EQ(fake_cuda::num_open_handles(), 2);
  give_back(gone);
  opened(shared(kept));  // tells
  EXPECT_EQ(fake_cuda::num_open_handles(), 1);
  give_back(kept);
}

TEST_F(shared_handles, are_opened_once_however_often_they_come) {
  void* const memory = allocate(std::byte{1});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(opened(shared(memory)), opened(shared(memory)));
  EXPECT_EQ(fake_cuda::calls_of("cudaIpcOpenMemHandle"), 1);
  EXPECT_EQ(fake_cuda::calls_of("cudaIpcGetMemHandle"), 1);
  give_back(memory);
}

TEST_F(shared_handles, stay_few_however_often_memory_comes_and_goes) {
  for (int i = 1; i < 50; ++i) {
    const auto value = static_cast<std::byte>(i);
    void* const memory = allocate(value);
    EXPECT_EQ(*opened(shared(memory)), value);
    give_back(memory);
  }
  EXPECT_LE(fake_cuda::num_open_handles(), 1);
}

TEST_F(shared_handles, of_memory_that_is_known_to_be_gone_are_a_named_error) {
  void* const kept = pool().allocate(300 * MiB, "a test");
  void* const gone = allocate(std::byte{3});
  const shared_memory stale = shared(gone);
  give_back(gone);
  opened(shared(kept));
  try {
    opened(stale);
    FAIL() << "nothing was thrown";
  } catch (const device_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("given back"));
  }
  give_back(kept);
}

}  // namespace

}  // namespace shared_handles_test
