#include "imbrex/device/cuda/cuda_devices.h"

#include <gtest/gtest.h>

#include <vector>

#include "gpu_fixture.h"

namespace cuda_devices_test {

using imbrex::cuda_devices;

namespace {

std::vector<int> map_of(std::size_t gpus, std::size_t pes) {
  // Numbers of GPUs that no machine has: nothing is known of where they are attached.
  std::vector<int> numbers(gpus, 1000);
  return cuda_devices::map_by_topology(numbers, std::vector<int>(pes, -1));
}

TEST(cuda_devices, share_pes_out_in_blocks) {
  EXPECT_EQ(map_of(1, 3), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(map_of(2, 4), (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(map_of(4, 4), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(map_of(2, 3), (std::vector<int>{0, 1, 1}));
}

TEST(cuda_devices, ranks_of_a_host_get_their_share) {
  SKIP_WITHOUT_GPU(1);
  const int there = imbrex::cuda_machine::count();
  EXPECT_EQ(cuda_devices::choose(0, 0, 1).size(), static_cast<std::size_t>(there));
  for (int rank = 0; rank < there; ++rank) EXPECT_EQ(cuda_devices::choose(0, rank, there), (std::vector<int>{rank}));
  EXPECT_EQ(cuda_devices::choose(1, there, there + 1), (std::vector<int>{0}));  // more ranks than GPUs: shared
}

}  // namespace

}  // namespace cuda_devices_test
