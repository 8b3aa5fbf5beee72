// Who meets whom where GPUs do steps of a star by themselves, and who cannot.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "imbrex/object/repeat/resident_star.h"
#include "unit/fake_gpu/cuda_fake.h"
#include "unit/object/job.h"

namespace resident_star_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

std::uint64_t address(const void* p) { return reinterpret_cast<std::uint64_t>(p); }

star_grid block_of(int nx, int ny, int nz) {
  star_grid g;
  g.nx = nx;
  g.ny = ny;
  g.nz = nz;
  return g;
}

/// Its block is as high as its index says.
template <class Index>
struct slab : chare<slab<Index>, Index> {
  task<> meet(int nx, int nz) {
    const auto number = static_cast<int>(linear(this->index(), this->extent()));
    auto connected = star_.connect(*this, block_of(nx, 30, nz + number));
    co_await connected;
    const resident_rounds r = star_.rounds(3), next = star_.rounds(0);
    EXPECT_EQ(next.before, r.before + 3);
    EXPECT_EQ(r.num, 3);
    EXPECT_EQ(r.cut.tiles_x, (nx + 23) / 24);
    contribute_places(r);
  }

 private:
  void contribute_places(const resident_rounds& r) {
    const auto num = static_cast<std::size_t>(volume(this->extent()));
    const auto number = static_cast<std::size_t>(linear(this->index(), this->extent()));
    std::vector<std::uint64_t> all(8 * num);
    const std::uint64_t mine[] = {address(r.own.faces),
                                  address(r.own.counts),
                                  address(r.below.faces),
                                  address(r.below.counts),
                                  address(r.above.faces),
                                  address(r.above.counts),
                                  static_cast<std::uint64_t>(r.cut.tiles_z),
                                  static_cast<std::uint64_t>(r.tiles_z_below)};
    std::copy(std::begin(mine), std::end(mine), all.begin() + static_cast<std::ptrdiff_t>(8 * number));
    this->contribute(all, sum);
  }
  resident_star star_;
};

template <class Index>
task<int> job(runtime& rt, Index extent, int nx, int nz, std::vector<std::uint64_t>* places) {
  const auto all = rt.create_array<slab<Index>>(extent);
  all.template broadcast<&slab<Index>::meet>(nx, nz);
  *places = co_await all.template reduction<std::vector<std::uint64_t>>();
  co_return 0;
}

TEST(resident_star_of_chares, each_is_told_its_neighbours) {
  for (const int gpus : {1, 2, 4}) {
    fake_cuda::start({.gpus = gpus});
    std::vector<std::uint64_t> told;
    command_line line(job_shape{gpus}, {"--imbrex-device=cuda"});
    ASSERT_EQ(run(line.count(), line.values(), job<index3d>, index3d{1, 1, gpus}, 50, 23, &told), 0);
    for (std::size_t n = 0; n < static_cast<std::size_t>(gpus); ++n) {
      const std::uint64_t *const mine = &told[8 * n], *const below = n > 0 ? mine - 8 : nullptr,
                                 *const above = n + 1 < static_cast<std::size_t>(gpus) ? mine + 8 : nullptr;
      EXPECT_NE(mine[0], 0);
      EXPECT_EQ(mine[2], below != nullptr ? below[0] : 0);
      EXPECT_EQ(mine[3], below != nullptr ? below[1] : 0);
      EXPECT_EQ(mine[7], below != nullptr ? below[6] : 0);
      EXPECT_EQ(mine[4], above != nullptr ? above[0] : 0);
      EXPECT_EQ(mine[5], above != nullptr ? above[1] : 0);
      EXPECT_EQ(mine[6], (23 + n + 11) / 12);
    }
    EXPECT_THAT(fake_cuda::failures(), testing::IsEmpty());
  }
}

template <class Index>
std::string refusal(const job_shape& s, Index extent, int gpus, int nx, int nz, const std::string& device = "cuda") {
  fake_cuda::start({.gpus = gpus});
  std::vector<std::uint64_t> told;
  command_line line(s, {"--imbrex-device=" + device});
  testing::internal::CaptureStderr();
  EXPECT_NE(run(line.count(), line.values(), job<Index>, extent, nx, nz, &told), 0);
  return testing::internal::GetCapturedStderr();
}

TEST(resident_star_of_chares, what_cannot_be_is_refused_by_name) {
  using testing::AllOf;
  using testing::HasSubstr;
  EXPECT_THAT(refusal({2}, index1d(4), 2, 24, 24), AllOf(HasSubstr("on the same GPU"), HasSubstr("one of its own")));
  EXPECT_THAT(refusal({1, 2}, index1d(2), 2, 24, 24), HasSubstr("several processes"));
  EXPECT_THAT(refusal({2}, index3d{2, 1, 1}, 2, 24, 24), HasSubstr("above one another in z"));
  EXPECT_THAT(refusal({1}, index1d(1), 1, 24, 0), HasSubstr("no cells"));
  EXPECT_THAT(refusal({1}, index1d(1), 1, 24, 24, "host"), HasSubstr("not on a GPU of CUDA"));
  EXPECT_THAT(refusal({2}, index1d(2), 2, 24 * 67, 24),
              AllOf(HasSubstr("too large"), HasSubstr("1608 x 30 x 24"), HasSubstr("use more GPUs")));
}

TEST(resident_cut, takes_the_least_depth_for_which_there_are_multiprocessors) {
  EXPECT_EQ(resident_cut::of(block_of(96, 96, 96), 132).depth, 12);
  EXPECT_EQ(resident_cut::of(block_of(96, 96, 96), 132).num_tiles(), 128);
  EXPECT_EQ(resident_cut::of(block_of(96, 96, 96), 108).depth, 24);
  EXPECT_EQ(resident_cut::of(block_of(192, 192, 48), 132).num_tiles(), 128);
  EXPECT_EQ(resident_cut::of(block_of(1, 1, 1), 132).num_tiles(), 1);
  EXPECT_GT(resident_cut::of(block_of(193, 192, 48), 132).num_tiles(), 132);
}

TEST(resident_star_of_chares, was_to_be_connected) {
  resident_star star;
  EXPECT_THROW(static_cast<void>(star.rounds(1)), usage_error);
  EXPECT_FALSE(star.is_connected());
}

}  // namespace

}  // namespace resident_star_test
