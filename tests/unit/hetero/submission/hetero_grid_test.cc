#include <gmock/gmock.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/object/reduction.h"
#include "unit/hetero/hetero_fixture.h"

namespace hetero_grid_test {

using namespace imbrex;
using namespace imbrex_test;

namespace {

using word = std::uint64_t;

/// A grid of the test's own, as a tile sees it.
struct plain_grid {
  explicit plain_grid(const grid_extent& e) : n(e), cells(e.x * e.y * e.z) {}
  tile_view<word> tile(const grid_point& at, const grid_extent& e) {
    return {&cells[at.x + n.x * (at.y + n.y * at.z)], {e.x, e.y, e.z}, {1, n.x, n.x * n.y}};
  }
  grid_extent n;
  std::vector<word> cells;
};

/// Shows who came before whom, for boxes of any size.
void mix(word id, tile_view<const word> a, tile_view<word> c, bool overwrites) {
  for (std::size_t z = 0; z < c.extent(2); ++z) {
    for (std::size_t y = 0; y < c.extent(1); ++y) {
      for (std::size_t x = 0; x < c.extent(0); ++x) {
        const word before = overwrites ? 0 : c(x, y, z);
        const word from = a(x % a.extent(0), y % a.extent(1), z % a.extent(2));
        c(x, y, z) = (before ^ (from * 0x9e3779b97f4a7c15)) + (from >> 7) + id + x + 3 * y + 5 * z;
      }
    }
  }
}

struct machine {
  const char* name;
  int devices;
  std::uint64_t elements_that_fit;
  const char* policy;
};
void PrintTo(const machine& m, std::ostream* to) { *to << m.name; }

struct tiled_graph : testing::TestWithParam<machine> {};

/// Tasks on boxes of any size of two grids, in one, two and three dimensions; one lies in memory of the test's.
void run_graph(const machine& m, unsigned seed, const grid_extent& n, int num_tasks) {
  hetero_options options;
  options.policy = m.policy;
  hetero_pe on(m.devices, m.elements_that_fit * sizeof(word), options);
  on.pe.queue.set_schedule_seed(seed);
  std::mt19937 random(seed);
  const auto pick = [&](std::size_t below) { return static_cast<std::size_t>(random() % below); };
  std::vector<plain_grid> expected(2, plain_grid(n));
  std::vector<word> own(n.x * n.y * n.z);
  std::vector<hetero_grid<word>> grids{hetero_grid<word>(*on.domain, n), hetero_grid<word>::over(*on.domain, own, n)};
  const auto fill = [](tile_view<word> v) { mix(7, tile_view<const word>(v), v, true); };
  for (std::size_t g = 0; g < 2; ++g) {
    std::ranges::fill(own, 0U);
    const auto begin = [](tile_view<word> v) {
      for (std::size_t z = 0; z < v.extent(2); ++z)
        for (std::size_t y = 0; y < v.extent(1); ++y) std::fill_n(v.row(y, z), v.extent(0), 0U);
    };
    submit(*on.domain, {}, begin, write(grids[g]));
    submit(*on.domain, {}, fill, grids[g]);
    fill(expected[g].tile({}, n));
  }
  struct part {
    std::size_t grid;
    grid_point at;
    grid_extent size;
  };
  const auto pick_part = [&]() -> part {
    part p{pick(2), {}, n};
    if (pick(6) == 0) return p;
    p.at = {pick(n.x), pick(n.y), pick(n.z)};
    p.size = {1 + pick(n.x - p.at.x), 1 + pick(n.y - p.at.y), 1 + pick(n.z - p.at.z)};
    return p;
  };
  const auto apart = [](const part& a, const part& b) {
    return a.grid != b.grid || a.at.x >= b.at.x + b.size.x || b.at.x >= a.at.x + a.size.x ||
           a.at.y >= b.at.y + b.size.y || b.at.y >= a.at.y + a.size.y || a.at.z >= b.at.z + b.size.z ||
           b.at.z >= a.at.z + a.size.z;
  };
  std::vector<hetero_grid<word>> kept;
  for (word id = 0; id < static_cast<word>(num_tasks); ++id) {
    const part a = pick_part();
    part c = pick_part();
    while (!apart(a, c)) c = pick_part();
    const bool overwrites = pick(4) == 0;
    mix(id, expected[a.grid].tile(a.at, a.size), expected[c.grid].tile(c.at, c.size), overwrites);
    const auto x = grids[a.grid].tile(a.at, a.size), z = grids[c.grid].tile(c.at, c.size);
    if (pick(3) == 0) kept.push_back(z);
    const task_options o{.priority = static_cast<int>(pick(3))};
    const auto here = [=](tile_view<const word> from, tile_view<word> to) { mix(id, from, to, overwrites); };
    const auto there = [=](stream& s, tile_view<const word> from, tile_view<word> to) {
      s.call("mix", [=] { mix(id, from, to, overwrites); });
    };
    if (m.devices == 0 || pick(3) == 0) {
      overwrites ? submit(*on.domain, o, here, x, write(z)) : submit(*on.domain, o, here, x, z);
    } else {
      overwrites ? submit(*on.domain, o, there, x, write(z)) : submit(*on.domain, o, there, x, z);
    }
    if (pick(30) == 0) on.pe.run();
    if (pick(60) == 0) grids[pick(2)].evict();
    if (pick(60) == 0) kept.clear();
  }
  std::vector<std::vector<word>> found(2);
  for (std::size_t g = 0; g < 2; ++g) {
    submit(
        *on.domain, {}, [&found, g](std::span<const word> v) { found[g].assign(v.begin(), v.end()); },
        grids[g].object());
  }
  on.pe.run();
  ASSERT_EQ(on.domain->num_outstanding(), 0U);
  for (std::size_t g = 0; g < 2; ++g) ASSERT_EQ(found[g], expected[g].cells) << "grid " << g << ", seed " << seed;
  ASSERT_EQ(own, expected[1].cells);
  for (const auto& p : on.domain->places()) {
    if (!p->is_host()) {
      ASSERT_LE(p->used(), p->capacity());
    }
  }
  grids.clear();
  kept.clear();
  EXPECT_EQ(on.memory.used().in_use, 0U);
}

TEST_P(tiled_graph, equals_sequential_execution) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    run_graph(GetParam(), seed, {6, 5, 1}, 80);
    run_graph(GetParam(), seed, {4, 3, 3}, 80);
    run_graph(GetParam(), seed, {30, 1, 1}, 80);
  }
}

INSTANTIATE_TEST_SUITE_P(machines, tiled_graph,
                         testing::Values(machine{"host", 0, 0, "locality"},
                                         machine{"one_device", 1, 10'000, "locality"},
                                         machine{"one_small_device", 1, 80, "locality"},
                                         machine{"two_devices", 2, 10'000, "locality"},
                                         machine{"three_small_devices_in_turn", 3, 75, "round_robin"},
                                         machine{"two_devices_learning", 2, 100, "shortest_finish"}),
                         [](const auto& i) { return std::string(i.param.name); });

TEST(hetero_grid, sizes_that_no_machine_has_are_refused) {
  hetero_pe on;
  EXPECT_THROW(on.object<double>(static_cast<std::size_t>(-1)), usage_error);
  EXPECT_THROW(on.object<double>((std::size_t{1} << 61) + 1), usage_error);
  EXPECT_THROW(hetero_grid<double>(*on.domain, {static_cast<std::size_t>(-1), 1}), usage_error);
  EXPECT_THROW(hetero_grid<double>(*on.domain, {std::size_t{1} << 32, std::size_t{1} << 32}), usage_error);
}

TEST(hetero_grid, tiles_on_the_host_lie_in_the_memory_of_the_grid) {
  hetero_pe on;
  std::vector<double> own(6 * 4);
  const auto g = hetero_grid<double>::over(*on.domain, own, {6, 4});
  const auto t = g.tile({2, 1}, {3, 2});
  const double* seen = nullptr;
  std::size_t stride = 0, value = 0;
  submit(
      *on.domain, {},
      [&](tile_view<double> v, std::size_t row) {
        seen = v.data();
        stride = v.stride(1);
        value = row;
        v(2, 1) = 7;
      },
      write(t), row_stride(t));
  on.pe.run();
  EXPECT_EQ(seen, &own[2 + 6]);
  EXPECT_EQ(stride, 6U);
  EXPECT_EQ(value, 6U);
  EXPECT_EQ(own[4 + 2 * 6], 7);
  EXPECT_EQ(g.tile({2, 1}, {3, 2}).handle().data(), t.handle().data());
  EXPECT_EQ(g.tile({0, 0}, {6, 4}).handle().data(), g.handle().data());
  EXPECT_EQ(t.tile({1, 1}, {2, 1}).handle().data(), g.tile({3, 2}, {2, 1}).handle().data());
}

TEST(hetero_grid, tiles_on_devices_lie_by_themselves_and_only_they_go_there) {
  hetero_pe on(1);
  const hetero_grid<double> g(*on.domain, {10, 8});
  const auto t = g.tile({3, 2}, {4, 5});
  submit(*on.domain, {}, [](std::span<double> v) { std::iota(v.begin(), v.end(), 0.0); }, write(g.object()));
  std::size_t stride = 0, value = 0;
  const auto twice = [&](stream& s, tile_view<double> v, std::size_t row) {
    stride = v.stride(1);
    value = row;
    s.call("twice", [v] {
      for (std::size_t y = 0; y < v.extent(1); ++y)
        for (std::size_t x = 0; x < v.extent(0); ++x) v(x, y) *= 2;
    });
  };
  submit(*on.domain, {}, twice, t, row_stride(t));
  std::vector<double> found;
  submit(*on.domain, {}, [&found](std::span<const double> v) { found.assign(v.begin(), v.end()); }, g.object());
  on.pe.run();
  EXPECT_EQ(stride, 4U);
  EXPECT_EQ(value, 4U);
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 10; ++x) {
      const bool in_tile = x >= 3 && x < 7 && y >= 2 && y < 7;
      EXPECT_EQ(found[x + 10 * y], static_cast<double>(x + 10 * y) * (in_tile ? 2 : 1));
    }
  }
  EXPECT_EQ(on.counts().bytes_to_devices, 20 * sizeof(double));
  EXPECT_EQ(on.counts().bytes_to_host, 20 * sizeof(double));
}

/// Blocks and each with its halo, in turns.
TEST(hetero_grid, blocks_read_what_their_neighbours_have) {
  for (const int devices : {0, 2}) {
    hetero_pe on(devices);
    constexpr std::size_t n = 24, b = 8;
    const grid_extent all{n + 2, n + 2};
    hetero_grid<double> now(*on.domain, all), next(*on.domain, all);
    plain_grid ignored(all);
    const auto begin = [](tile_view<double> v) {
      for (std::size_t y = 0; y < v.extent(1); ++y)
        for (std::size_t x = 0; x < v.extent(0); ++x) v(x, y) = static_cast<double>(x * x + 3 * y);
    };
    submit(*on.domain, {}, begin, write(now));
    submit(*on.domain, {}, begin, write(next));
    const auto sweep = [](tile_view<const double> from, tile_view<double> to) {
      for (std::size_t y = 0; y < to.extent(1); ++y)
        for (std::size_t x = 0; x < to.extent(0); ++x)
          to(x, y) = (from(x, y + 1) + from(x + 2, y + 1) + from(x + 1, y) + from(x + 1, y + 2)) / 4;
    };
    const auto there = [sweep](stream& s, tile_view<const double> from, tile_view<double> to) {
      s.call("sweep", [=] { sweep(from, to); });
    };
    std::vector<double> a(all.x * all.y);
    const auto whole = [&](std::vector<double>& v) {
      return tile_view<double>(v.data(), {all.x, all.y, 1}, {1, all.x, 0});
    };
    begin(whole(a));
    std::vector<double> c = a;
    for (int step = 0; step < 6; ++step) {
      for (std::size_t y = 0; y < n; y += b) {
        for (std::size_t x = 0; x < n; x += b) {
          const auto with_halo = now.tile({x, y}, {b + 2, b + 2}), block = next.tile({x + 1, y + 1}, {b, b});
          if (devices > 0 && (x + y) % 3 != 0) {
            submit(*on.domain, {}, there, with_halo, write(block));
          } else {
            submit(*on.domain, {}, sweep, with_halo, write(block));
          }
        }
      }
      sweep(whole(a), tile_view<double>(&c[1 + all.x], {n, n, 1}, {1, all.x, 0}));
      std::swap(a, c);
      std::swap(now, next);
    }
    std::vector<double> found;
    submit(*on.domain, {}, [&found](std::span<const double> v) { found.assign(v.begin(), v.end()); }, now.object());
    on.pe.run();
    EXPECT_EQ(found, a) << devices;
  }
}

task<> look_at(hetero_grid<double> tile, double* corner) {
  auto access = tile.host(access_mode::read_write);
  auto view = co_await access;
  *corner = view(1, 2);
  view(1, 2) = 100;
  view.release();
}

TEST(hetero_grid, has_views_and_slices_that_are_boxes) {
  hetero_pe on;
  const hetero_grid<double> g(*on.domain, {4, 6});
  submit(*on.domain, {}, [](std::span<double> v) { std::iota(v.begin(), v.end(), 0.0); }, write(g.object()));
  double corner = 0;
  on.run(look_at(g.tile({2, 1}, {2, 4}), &corner));
  EXPECT_EQ(corner, 3 + 4 * 3);
  const auto rows = g.object().slice(8, 12);
  double found = 0;
  submit(*on.domain, {}, [&found](std::span<const double> v) { found = v[7]; }, rows);
  on.pe.run();
  EXPECT_EQ(found, 100);
  EXPECT_THROW(g.object().slice(2, 4), usage_error);  // the end of a row, and the beginning of another
  EXPECT_THROW(g.tile({2, 1}, {2, 4}).handle().slice(0, 4), usage_error);
  EXPECT_THROW(g.tile({2, 1}, {2, 4}).object(), usage_error);  // its rows lie apart
  EXPECT_EQ(g.tile({0, 2}, {4, 3}).object().data(), rows.data());
}

TEST(hetero_grid, copies_of_tiles_are_grids_by_themselves) {
  for (const int devices : {0, 1, 2}) {
    hetero_pe on(devices);
    const hetero_grid<double> g(*on.domain, {5, 4, 3});
    submit(*on.domain, {}, [](std::span<double> v) { std::iota(v.begin(), v.end(), 0.0); }, write(g.object()));
    const hetero_grid<double> tile = g.tile({1, 1, 1}, {3, 2, 2});
    if (devices > 0) {
      const auto twice = [](stream& s, tile_view<double> v) {
        s.call("twice", [v] {
          for (std::size_t i = 0; i < v.size(); ++i) v.data()[i] *= 2;
        });
      };
      submit(*on.domain, {}, twice, tile);
    }
    const hetero_grid<double> copied = tile.copy();
    submit(*on.domain, {}, [](std::span<double> v) { std::ranges::fill(v, -1.0); }, write(g.object()));
    std::vector<double> found;
    EXPECT_TRUE(copied.is_dense());
    EXPECT_FALSE(tile.is_dense());
    submit(*on.domain, {}, [&found](std::span<const double> v) { found.assign(v.begin(), v.end()); }, copied.object());
    on.pe.run();
    std::vector<double> expected;
    for (int z = 1; z < 3; ++z)
      for (int y = 1; y < 3; ++y)
        for (int x = 1; x < 4; ++x) expected.push_back((x + 5 * y + 20 * z) * (devices > 0 ? 2 : 1));
    EXPECT_EQ(found, expected);
  }
}

void add_corners(tile_view<word> v, word term) {
  v(0, 0) += term;
  v(v.extent(0) - 1, v.extent(1) - 1) += 2 * term;
}

/// Tiles that overlap, reduced into by many, and changed otherwise in between.
TEST(hetero_grid, has_tiles_that_are_reduced_into) {
  for (const int devices : {0, 2}) {
    hetero_pe on(devices);
    const hetero_grid<word> g(*on.domain, {6, 5});
    plain_grid model({6, 5});
    submit(*on.domain, {}, [](std::span<word> v) { std::ranges::fill(v, word{1}); }, write(g.object()));
    std::ranges::fill(model.cells, word{1});
    std::mt19937 random(7);
    for (int i = 0; i < 200; ++i) {
      const grid_point at{random() % 4, random() % 3};
      const grid_extent n{2 + random() % (6 - at.x - 1), 2 + random() % (5 - at.y - 1)};
      const word term = random();
      const hetero_grid<word> tile = g.tile(at, n);
      for (int k = 0; k < 3; ++k) {
        submit(*on.domain, {}, &add_corners, reduce(tile, sum), term);
        add_corners(model.tile(at, n), term);
      }
      if (i % 5 == 0) {
        submit(*on.domain, {}, [](tile_view<word> v) { v(0, 0) *= 3; }, g.tile(at, {1, 1}));
        model.tile(at, {1, 1})(0, 0) *= 3;
      }
    }
    std::vector<word> found;
    submit(*on.domain, {}, [&found](std::span<const word> v) { found.assign(v.begin(), v.end()); }, g.object());
    on.pe.run();
    EXPECT_EQ(found, model.cells) << devices;
  }
}

/// One that nobody has written is what is reduced into it.
TEST(hetero_grid, may_begin_with_a_reduction) {
  hetero_pe on;
  const hetero_grid<double> g(*on.domain, {3, 2});
  for (int i = 0; i < 20; ++i) {
    const auto raise = [i](tile_view<double> v) { v(2, 1) = std::max(v(2, 1), static_cast<double>(i)); };
    submit(*on.domain, {}, raise, reduce(g, imbrex::max).over(3));
  }
  double found = 0;
  submit(*on.domain, {}, [&found](tile_view<const double> v) { found = v(2, 1); }, g);
  on.pe.run();
  EXPECT_EQ(found, 19);
}

TEST(hetero_grid, says_what_is_no_tile) {
  hetero_pe on;
  const hetero_grid<double> g(*on.domain, {4, 6});
  const auto text = [&](const grid_point& at, const grid_extent& n) -> std::string {
    try {
      g.tile(at, n);
    } catch (const usage_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(text({1, 0}, {4, 1}), testing::AllOf(testing::HasSubstr("4 x 1 x 1"), testing::HasSubstr("4 x 6 x 1")));
  EXPECT_THAT(text({0, 0}, {1, 0}), testing::HasSubstr("not empty"));
  EXPECT_THAT(text({0, 0, 1}, {1, 1}), testing::HasSubstr("(0, 0, 1)"));
  std::vector<double> own(5);
  EXPECT_THROW(hetero_grid<double>::over(*on.domain, own, {2, 3}), usage_error);
  const auto a = g.tile({0, 0}, {2, 2}), b = g.tile({1, 1}, {2, 2});
  submit(*on.domain, {}, [](tile_view<double>) {}, write(g));
  EXPECT_THROW(submit(*on.domain, {}, [](tile_view<double>, tile_view<const double>) {}, a, b), usage_error);
  on.pe.run();
}

}  // namespace

}  // namespace hetero_grid_test
