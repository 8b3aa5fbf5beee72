// Tiles: the heat in a plate by tasks on tiles of two grids, until it changes little.
//
// A task reads a tile with its halo, which overlaps the neighbours' tiles, and writes a tile of the other grid. It says
// nothing of neighbours, borders, copies or streams: what has to come first, and what has to be brought where, follows
// from which bytes a task uses. On the host tiles are parts of the grid, which is the program's own vector; on a device
// they lie by themselves, and only their borders travel. How much has changed is reduced tile by tile, and the loop
// ends by it.
//
//   build/default/bin/22_tiles                               one PE
//   build/default/bin/22_tiles 512 128 --imbrex-pes=2        a larger plate and larger tiles; idle PEs take tasks
//   build/default/bin/22_tiles --imbrex-device=auto          the sweeps run on GPUs where there are any
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <cmath>
#include <string>
#include <vector>

#include "22_tiles.hk"

namespace ix = imbrex;

using tile = ix::tile_view<const double>;

void change_of(tile before, tile after, std::span<double> most) {
  for (std::size_t y = 0; y < after.extent(1); ++y)
    for (std::size_t x = 0; x < after.extent(0); ++x) most[0] = std::max(most[0], std::abs(after(x, y) - before(x, y)));
}

// A plate of n by n inside a border, of which the side at y = 0 is hot.
std::vector<double> plate(std::size_t n) {
  std::vector<double> t((n + 2) * (n + 2), 0.0);
  std::fill_n(t.begin(), n + 2, 100.0);
  return t;
}

void check_sweep(std::size_t n, const std::vector<double>& a, std::vector<double>& b) {
  for (std::size_t i = n + 3; i < (n + 1) * (n + 2) - 1; ++i) {
    const bool border = i % (n + 2) == 0 || i % (n + 2) == n + 1;
    if (!border) b[i] = (a[i - 1] + a[i + 1] + a[i - n - 2] + a[i + n + 2]) / 4;
  }
}

ix::task<int> start(ix::runtime&, std::vector<std::string> arguments) {
  const std::size_t n = arguments.empty() ? 96 : std::stoul(arguments[0]);
  const std::size_t b = arguments.size() < 2 ? 32 : std::stoul(arguments[1]);
  std::vector<double> memory[2] = {plate(n), plate(n)};
  auto now = ix::hetero_grid<double>::over(memory[0], {n + 2, n + 2});
  auto next = ix::hetero_grid<double>::over(memory[1], {n + 2, n + 2});
  int steps = 0;
  for (double change = 1; change > 0.01;) {
    ix::hetero_object<double> most(1);
    for (int k = 0; k < 20; ++k, ++steps) {
      for (std::size_t y = 0; y < n; y += b)
        for (std::size_t x = 0; x < n; x += b) {
          const std::size_t w = std::min(b, n - x), h = std::min(b, n - y);
          const auto with_halo = now.tile({x, y}, {w + 2, h + 2}), block = next.tile({x + 1, y + 1}, {w, h});
          const int width = static_cast<int>(w), height = static_cast<int>(h);
          ix::submit({}, sweep, ix::launch_shape::over_grid(w, h), width, height, with_halo, row_stride(with_halo),
                     write(block), row_stride(block));
          if (k == 19) ix::submit({}, change_of, now.tile({x + 1, y + 1}, {w, h}), block, reduce(most, ix::max));
        }
      std::swap(now, next);
    }
    const auto largest = ix::submit({}, [](std::span<const double> m) { return m[0]; }, most);
    change = co_await largest;
  }
  auto access = now.host(ix::access_mode::read);
  const auto result = co_await access;

  std::vector<double> a = plate(n), c = a;
  for (int k = 0; k < steps; ++k, std::swap(a, c)) check_sweep(n, a, c);
  bool same = true;
  for (std::size_t y = 0; y < n + 2; ++y)
    for (std::size_t x = 0; x < n + 2; ++x) same &= result(x, y) == a[y * (n + 2) + x];
  fmt::print("{} steps, {:.3f} degrees in the middle, {}\n", steps, result(n / 2, n / 2),
             same ? "the same bits as without tiles" : "NOT what it is without tiles");
  co_return same ? 0 : 1;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
