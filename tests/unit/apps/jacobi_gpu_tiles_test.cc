#include <gtest/gtest.h>

#include <vector>

#include "kernels/gpu_layout.h"
#include "kernels/gpu_tiles.h"

namespace jacobi_gpu_tiles_test {

using namespace jacobi;

namespace {

TEST(quick_divisor, divides) {
  for (int d = 1; d < 3000; d += d < 100 ? 1 : 97) {
    const quick_divisor by(d);
    for (int n = 0; n < (1 << 24); n += n < 5000 ? 1 : 9973 * d % 65536 + 1) {
      int rest = n;
      ASSERT_EQ(by.divide(rest), n / d) << n << " / " << d;
      ASSERT_EQ(rest, n % d) << n << " / " << d;
    }
  }
  for (int d : {1 << 20, (1 << 23) + 1, (1 << 24) - 1}) {
    const quick_divisor by(d);
    for (int n : {0, d - 1, d, (1 << 24) - 1}) {
      int rest = n;
      ASSERT_EQ(by.divide(rest), n / d) << n << " / " << d;
    }
  }
}

TEST(gpu_tiling, covers_every_cell_once) {
  for (const extents size : {extents{1, 1, 1}, extents{64, 8, 4}, extents{65, 9, 5}, extents{300, 700, 13},
                             extents{33, 18, 27}, extents{768, 411, 9}, extents{130, 1500, 3}}) {
    for (int depth : {4, 8}) {
      for (int strip : {0, 1, 3, 1000}) {
        gpu_tiling t = gpu_tiling::of(size, gpu_cut{depth});
        if (strip > 0) t.set_strip(std::min(strip, t.ny));
        std::vector<int> seen(static_cast<std::size_t>(t.total()));
        for (int i = 0; i < t.total(); ++i) {
          const gpu_tiling::place p = t.at(i);
          ASSERT_TRUE(p.x >= 0 && p.x < size.nx && p.x % gpu_tiling::cells == 0);
          ASSERT_TRUE(p.y >= 0 && p.y < size.ny && p.y % gpu_tiling::rows == 0);
          ASSERT_TRUE(p.z >= 0 && p.z < size.nz && p.z % depth == 0);
          ++seen[static_cast<std::size_t>((p.z / depth * t.ny + p.y / gpu_tiling::rows) * t.nx +
                                          p.x / gpu_tiling::cells)];
        }
        for (const int n : seen) ASSERT_EQ(n, 1);
      }
    }
  }
}

TEST(gpu_layout, deep_ghosts_have_places_of_their_own) {
  for (const std::int64_t depth : {2, 3, 4, 7, 12}) {
    const extents n{29, 13, 12};
    const gpu_layout l = gpu_layout::of(n, {30, 14, 12}, depth);
    std::vector<int> used(static_cast<std::size_t>(l.doubles()));
    EXPECT_GE(l.index(-depth - 1, -depth, -depth), 0) << "pairs may begin before the ghosts";
    EXPECT_EQ(l.origin % 2, 0);
    for (std::int64_t z = -depth; z < n.nz + depth; ++z)
      for (std::int64_t y = -depth; y < n.ny + depth; ++y)
        for (std::int64_t x = -depth; x < n.nx + depth; ++x) ++used.at(static_cast<std::size_t>(l.index(x, y, z)));
    for (const int u : used) ASSERT_LE(u, 1);
  }
}

TEST(gpu_layout, gives_every_cell_and_ghost_a_place_of_its_own) {
  const extents n{17, 5, 3};
  const gpu_layout l = gpu_layout::of(n);
  std::vector<int> used(static_cast<std::size_t>(l.doubles()));
  auto use = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    ++used.at(static_cast<std::size_t>(l.index(x, y, z)));
  };
  for (std::int64_t z = 0; z < n.nz; ++z)
    for (std::int64_t y = 0; y < n.ny; ++y)
      for (std::int64_t x = -1; x <= n.nx; ++x) use(x, y, z);
  for (std::int64_t z = 0; z < n.nz; ++z)
    for (std::int64_t x = 0; x < n.nx; ++x) use(x, -1, z), use(x, n.ny, z);
  for (std::int64_t y = 0; y < n.ny; ++y)
    for (std::int64_t x = 0; x < n.nx; ++x) use(x, y, -1), use(x, y, n.nz);
  for (const int times : used) EXPECT_LE(times, 1);
  EXPECT_EQ(l.index(0, 2, 1) % 16, 0);
}

}  // namespace

}  // namespace jacobi_gpu_tiles_test
