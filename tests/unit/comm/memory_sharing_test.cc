#include "imbrex/comm/data/memory_sharing.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "imbrex/base/error.h"
#include "imbrex/comm/loopback/loopback_transport.h"

namespace memory_sharing_test {

using namespace imbrex;

namespace {

/// Shares and opens as it is told.
struct told_device final : device {
  told_device(bool shares_, bool opens_) : shares(shares_), opens(opens_) {}
  device_kind kind() const override { return device_kind::host; }
  int number() const override { return 0; }
  std::string name() const override { return "told"; }
  memory_info memory() const override { return {}; }
  memory_kind allocates() const override { return memory_kind::device; }
  void* allocate(std::size_t bytes, memory_kind) override {
    ++num_allocated;
    return std::malloc(bytes);
  }
  void free(void* memory, std::size_t, memory_kind) noexcept override {
    --num_allocated;
    std::free(memory);
  }
  memory_usage used(memory_kind) const override { return {}; }
  void read_now(void*, const void*, std::size_t, const event&) override {}
  std::unique_ptr<stream> make_stream(stream_priority, std::string) override { return nullptr; }
  bool share(const void*, shared_memory& as) override {
    if (shares) as.handle.size = 8;
    return shares;
  }
  const std::byte* open(const shared_memory&) override {
    ++num_opened;
    if (!opens) throw device_error("this machine says yes and means no");
    return nullptr;
  }
  bool shares, opens;
  int num_allocated = 0, num_opened = 0;
};

/// What each of the ranks, with one device each, agrees on.
std::vector<memory_sharing> agreed(std::vector<std::unique_ptr<told_device>>& devices,
                                   const std::vector<std::vector<bool>>& same_host) {
  const auto n = devices.size();
  auto network = std::make_shared<loopback_network>(static_cast<int>(n));
  std::vector<memory_sharing> found(n);
  std::vector<std::thread> ranks;
  for (std::size_t r = 0; r < n; ++r) {
    ranks.emplace_back([&, r] {
      loopback_transport t(network, static_cast<rank_id>(r));
      found[r] = agree_on_sharing(t, same_host[r], {devices[r].get()});
    });
  }
  for (std::thread& t : ranks) t.join();
  return found;
}

TEST(memory_sharing, is_agreed_on_for_each_pair_and_direction) {
  std::vector<std::unique_ptr<told_device>> devices;
  devices.push_back(std::make_unique<told_device>(true, true));
  devices.push_back(std::make_unique<told_device>(true, false));  // cannot open
  devices.push_back(std::make_unique<told_device>(false, true));  // cannot share
  devices.push_back(std::make_unique<told_device>(true, true));
  const std::vector<std::vector<bool>> same_host(4, std::vector<bool>(4, true));
  const auto found = agreed(devices, same_host);
  const std::vector<bool> opens{true, false, true, true}, shares{true, true, false, true};
  for (std::size_t me = 0; me < 4; ++me) {
    for (std::size_t other = 0; other < 4; ++other) {
      EXPECT_EQ(found[me].is_read[other], me != other && opens[me] && shares[other]) << me << " reads " << other;
      EXPECT_EQ(found[me].reads_mine[other], found[other].is_read[me]) << me << " is read by " << other;
    }
    EXPECT_EQ(devices[me]->num_allocated, 0);
  }
}

TEST(memory_sharing, is_not_tried_between_hosts) {
  std::vector<std::unique_ptr<told_device>> devices;
  for (int i = 0; i < 2; ++i) devices.push_back(std::make_unique<told_device>(true, true));
  const auto found = agreed(devices, std::vector<std::vector<bool>>(2, std::vector<bool>(2, false)));
  for (std::size_t me = 0; me < 2; ++me) {
    EXPECT_EQ(devices[me]->num_opened, 0);
    EXPECT_FALSE(found[me].is_read[1 - me]);
    EXPECT_FALSE(found[me].reads_mine[1 - me]);
  }
}

}  // namespace

}  // namespace memory_sharing_test
