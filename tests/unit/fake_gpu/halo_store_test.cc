// On which GPU lies what a halo sends (`halo_path::store`).
#include <gmock/gmock.h>

#include <vector>

#include "unit/fake_gpu/cuda_fake.h"
#include "unit/object/job.h"

namespace halo_store_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

/// Of a pair.
struct half : chare<half, index1d> {
  half() = default;
  explicit half(halo_path path) : ends_(memory_kind::device, path) {
    for (const auto& n : neighbours(index(), extent())) ends_.connect(*this, array(), n, 100);
  }
  template <class Archive>
  void serialize(Archive& ar) {
    ar & ends_ & num_rounds_;
  }

  /// Gives on which GPU was what it sent in each of two rounds; what comes is what the other has sent.
  task<std::vector<int>> two_rounds() {
    stream& s = streams().compute;
    buffer<std::byte> seen(on_device(), 100, memory_kind::pinned);
    std::vector<int> gpus;
    for (int i = 0; i < 2; ++i, ++num_rounds_) {
      co_await ends_.begin(s);
      gpus.push_back(fake_cuda::gpu_of_memory(ends_.out(0).data));
      s.fill(ends_.out(0).data, word(index().x), 100);
      ends_.send(s);
      co_await ends_.receive(s);
      s.copy(seen.data(), ends_.in(0).data, 100);
      ends_.release();
      co_await s.done();
      EXPECT_EQ(seen.data()[99], static_cast<std::byte>(word(1 - index().x)));
    }
    co_return gpus;
  }
  void go_to(pe_id to) { migrate_to(to); }
  int gpu() { return on_device().number(); }

 private:
  unsigned char word(int who) const { return static_cast<unsigned char>(100 * who + num_rounds_); }

  halo<std::byte> ends_;
  int num_rounds_ = 0;
};

task<std::vector<std::vector<int>>> both(array_proxy<half> pair) {
  using call = decltype(pair[0].call<&half::two_rounds>());
  std::vector<call> calls;
  for (int i = 0; i < 2; ++i) calls.push_back(pair[i].call<&half::two_rounds>());
  auto all = when_all(std::move(calls));
  co_return co_await std::move(all);
}

using gpus = std::vector<std::vector<int>>;

task<int> send_and_move(runtime& rt, halo_path path, gpus* apart, gpus* together, gpus* apart_again) {
  const auto pair = rt.create_array<half>(index1d(2), path);
  auto first = both(pair);
  *apart = co_await first;
  pair[1].send<&half::go_to>(0);
  co_await rt.quiescence();
  auto second = both(pair);
  *together = co_await second;
  pair[1].send<&half::go_to>(1);
  co_await rt.quiescence();
  auto third = both(pair);
  *apart_again = co_await third;
  co_return 0;
}

TEST(halo_store, lies_where_it_is_read) {
  for (const halo_path path : {halo_path::store, halo_path::device}) {
    fake_cuda::start({.gpus = 2});
    gpus apart, together, apart_again;
    command_line line({2}, {"--imbrex-device=cuda"});
    EXPECT_EQ(run(line.count(), line.values(), send_and_move, path, &apart, &together, &apart_again), 0);
    const gpus there{{1, 1}, {0, 0}}, here{{0, 0}, {1, 1}};
    EXPECT_EQ(apart, path == halo_path::store ? there : here);
    EXPECT_EQ(together, (gpus{{0, 0}, {0, 0}}));
    EXPECT_EQ(apart_again, path == halo_path::store ? there : here);
    EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
  }
}

}  // namespace

}  // namespace halo_store_test
