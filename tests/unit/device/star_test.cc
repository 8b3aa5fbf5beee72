// How passes of `star_steps` are cut, and its twin on the host. The kernels run on GPUs only: jacobi3d --steps and
// example 20 compare them, bit for bit.
#include "imbrex/base/error.h"
#include "imbrex/device/star/star_cut.h"
#include "imbrex/device/star/star_halos.h"
#include "imbrex/device/star/star_on_host.h"

#include <gmock/gmock.h>

#include <array>
#include <cstddef>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

namespace imbrex {
namespace star_test {
namespace {

using detail::star_cut;

TEST(star_cut, writes_every_cell_once) {
  for (const star_box box : {star_box{0, 1, 0, 1, 0, 1}, star_box{0, 56, 0, 24, 0, 9}, star_box{0, 113, 0, 57, 0, 300},
                             star_box{-4, 131, -3, 70, -2, 44}, star_box{-2, 60, -1, 200, 0, 3}}) {
    for (int steps = 1; steps <= detail::most_star_steps; ++steps) {
      for (const int cluster : {1, 2}) {
        for (const int multiprocessors : {1, 10, 132}) {
          const star_cut c = star_cut::of(box, steps, cluster, multiprocessors);
          EXPECT_EQ(c.num_blocks(), c.num_tiles() * cluster);
          const auto nx = static_cast<std::size_t>(box.x1 - box.x0), ny = static_cast<std::size_t>(box.y1 - box.y0),
                     nz = static_cast<std::size_t>(box.z1 - box.z0);
          std::vector<int> seen(nx * ny * nz);
          for (int n = 0; n < c.num_tiles(); ++n) {
            const star_box t = c.tile(n);
            ASSERT_FALSE(t.is_empty());
            ASSERT_EQ(t.x0 % 2, 0) << "threads have pairs of cells";
            // What is lost at the edges of a column is within it.
            ASSERT_LE(t.x1 - t.x0 + 2 * steps, detail::star_shape::width);
            ASSERT_LE(t.y1 - t.y0 + 2 * steps, cluster * detail::star_shape::rows);
            for (int z = t.z0; z < t.z1; ++z)
              for (int y = t.y0; y < t.y1; ++y)
                for (int x = t.x0; x < t.x1; ++x)
                  ++seen[(static_cast<std::size_t>(z - box.z0) * ny + static_cast<std::size_t>(y - box.y0)) * nx +
                         static_cast<std::size_t>(x - box.x0)];
          }
          for (const int n : seen) ASSERT_EQ(n, 1);
        }
      }
    }
  }
}

TEST(star_cut, wastes_little) {
  const auto planes = [](const star_cut& c, int at_once) {
    return static_cast<double>((c.num_tiles() + at_once - 1) / at_once) * (c.depth + 8);
  };
  const star_cut large = star_cut::of({0, 768, 0, 768, 0, 768}, 4, 2, 132);
  EXPECT_LE(planes(large, 66), 1.15 * 768 * large.tiles_x * large.tiles_y / 66);
  const star_cut small = star_cut::of({0, 96, 0, 96, 0, 96}, 4, 2, 132);
  EXPECT_GE(small.num_tiles(), 30) << "all multiprocessors get something to do, or nearly";
  const star_cut flat = star_cut::of({0, 768, 0, 768, 0, 4}, 4, 2, 132);
  EXPECT_EQ(flat.depth, 4);
}

TEST(star_cut, passes_have_the_rest_first) {
  const auto passes = [](int steps) {
    std::vector<int> all;
    for (int left = steps; left > 0; left -= all.back()) all.push_back(detail::steps_of_next_pass(left));
    return all;
  };
  EXPECT_EQ(passes(1), std::vector<int>{1});
  EXPECT_EQ(passes(4), std::vector<int>{4});
  EXPECT_EQ(passes(6), (std::vector<int>{2, 4}));
  EXPECT_EQ(passes(11), (std::vector<int>{3, 4, 4}));
}

TEST(star_halos, what_one_packs_the_other_unpacks) {
  star_grid g{.nx = 7, .ny = 5, .nz = 6, .pitch = 16, .plane = 16 * 11};
  const int depth = 3;
  const auto size = static_cast<std::size_t>(g.plane * 12 + 64);
  const auto origin = static_cast<std::ptrdiff_t>(depth * (g.plane + g.pitch) + 4);
  std::vector<double> field(size), seen(size);
  for (std::size_t i = 0; i < size; ++i) field[i] = static_cast<double>(i);
  // A block of its own, periodic in all directions: every ghost is a cell of the other end.
  std::vector<std::vector<double>> buffers;
  std::vector<star_halo> out, in;
  for (int z = -1; z <= 1; ++z)
    for (int y = -1; y <= 1; ++y)
      for (int x = -1; x <= 1; ++x) {
        if (x == 0 && y == 0 && z == 0) continue;
        const std::array<int, 3> offset{x, y, z}, back{-x, -y, -z};
        const star_box inner = inner_cells(g, offset, depth), ghosts = ghost_cells(g, back, depth);
        ASSERT_EQ(num_cells(inner), num_cells(ghosts));
        buffers.emplace_back(static_cast<std::size_t>(num_cells(inner)));
        out.push_back({offset, buffers.back().data()});
        in.push_back({back, buffers.back().data()});
      }
  star_pack_on_host(g, field.data() + origin, depth, out);
  star_unpack_on_host(g, field.data() + origin, depth, in);
  const auto at = [&](int x, int y, int z) {
    return field[static_cast<std::size_t>(origin + z * g.plane + y * g.pitch + x)];
  };
  for (int z = -depth; z < g.nz + depth; ++z)
    for (int y = -depth; y < g.ny + depth; ++y)
      for (int x = -depth; x < g.nx + depth; ++x)
        ASSERT_EQ(at(x, y, z), at((x + g.nx) % g.nx, (y + g.ny) % g.ny, (z + g.nz) % g.nz)) << x << y << z;
}

TEST(star_grid, what_cannot_be_worked_on_is_named) {
  alignas(16) double memory[64];
  const star_grid good{.nx = 3, .ny = 2, .nz = 2, .pitch = 8, .plane = 16};
  EXPECT_NO_THROW(detail::check_star("s", good, memory, memory + 32, 4));
  const auto complaint = [&](star_grid g, const double* field, const double* other, int steps) -> std::string {
    try {
      detail::check_star("heat", g, field, other, steps);
    } catch (const usage_error& e) {
      return e.what();
    }
    return "";
  };
  using testing::HasSubstr;
  star_grid g = good;
  g.pitch = 7;
  EXPECT_THAT(complaint(g, memory, memory + 32, 4), testing::AllOf(HasSubstr("heat"), HasSubstr("pitch of 7")));
  g = good;
  g.plane = 14;
  EXPECT_THAT(complaint(g, memory, memory + 32, 4), HasSubstr("too little"));
  g = good;
  g.nz = -1;
  EXPECT_THAT(complaint(g, memory, memory + 32, 4), HasSubstr("-1 cells"));
  EXPECT_THAT(complaint(good, memory + 1, memory + 32, 4), HasSubstr("multiple of 16"));
  EXPECT_THAT(complaint(good, memory, memory, 4), HasSubstr("same memory"));
  EXPECT_THAT(complaint(good, memory, memory + 32, -2), HasSubstr("-2 steps"));
}

struct sum_of_weights {
  double in_plane(double here, double west, double east, double south, double north, double below) const {
    return here + 2 * west + 3 * east + 5 * south + 7 * north + 11 * below;
  }
  double complete(double sum, double here, double above) const { return (sum + 13 * above - here) / 64; }
};

/// A field as a map from cells, which knows nothing of memory.
using sparse = std::map<std::tuple<int, int, int>, double>;

sparse stepped(const sparse& now, const star_box& there, double outside) {
  sparse next;
  const auto at = [&](int x, int y, int z) {
    const bool is_there =
        x >= there.x0 && x < there.x1 && y >= there.y0 && y < there.y1 && z >= there.z0 && z < there.z1;
    const auto found = now.find({x, y, z});
    return !is_there || found == now.end() ? outside : found->second;
  };
  for (const auto& [cell, here] : now) {
    const auto [x, y, z] = cell;
    const double sum = here + 2 * at(x - 1, y, z) + 3 * at(x + 1, y, z) + 5 * at(x, y - 1, z) + 7 * at(x, y + 1, z) +
                       11 * at(x, y, z - 1);
    next[cell] = (sum + 13 * at(x, y, z + 1) - here) / 64;
  }
  return next;
}

TEST(star_on_host, agrees_with_single_steps_of_all_cells) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    star_grid g{.nx = 1 + static_cast<int>(random() % 9),
                .ny = 1 + static_cast<int>(random() % 7),
                .nz = 1 + static_cast<int>(random() % 6)};
    for (bool& o : g.open) o = random() % 2 == 0;
    g.outside = 0.5;
    const int steps = static_cast<int>(random() % 6);
    g.pitch = g.nx + 2 * steps + 4;
    g.plane = g.pitch * (g.ny + 2 * steps);
    const auto size = static_cast<std::size_t>(g.plane * (g.nz + 2 * steps) + 16);
    std::array<std::vector<double>, 2> fields{std::vector<double>(size, 1e30), std::vector<double>(size, -1e30)};
    const auto origin = static_cast<std::ptrdiff_t>(steps * (g.plane + g.pitch) + steps + 2);
    sparse expected;
    const star_box all = grown(g, steps);
    for (int z = all.z0; z < all.z1; ++z)
      for (int y = all.y0; y < all.y1; ++y)
        for (int x = all.x0; x < all.x1; ++x) {
          const double v = static_cast<double>(random() % 1000) / 8;
          fields[0][static_cast<std::size_t>(origin + z * g.plane + y * g.pitch + x)] = v;
          expected[{x, y, z}] = v;
        }
    sparse before = expected;
    for (int i = 0; i < steps; ++i) {
      before = expected;
      expected = stepped(expected, domain(g), g.outside);
    }
    double* const a = fields[0].data() + origin;
    double* const b = fields[1].data() + origin;
    const double* const result = star_steps_on_host(g, a, b, steps, sum_of_weights{});
    const double* const previous = result == a ? b : a;
    for (int z = 0; z < g.nz; ++z)
      for (int y = 0; y < g.ny; ++y)
        for (int x = 0; x < g.nx; ++x) {
          const std::int64_t at = z * g.plane + y * g.pitch + x;
          ASSERT_EQ(result[at], (expected[{x, y, z}])) << trial << ": " << x << ' ' << y << ' ' << z;
          if (steps > 0) {
            ASSERT_EQ(previous[at], (before[{x, y, z}]));
          }
        }
  }
}

}  // namespace
}  // namespace star_test
}  // namespace imbrex
