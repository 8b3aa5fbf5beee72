// Several steps a pass, of a rule of the program's own: the layers of a pile, on whatever device there is, against
// plain loops over the whole. How many layers is found by trying.
#include <fmt/core.h>
#include <imbrex/clock.h>
#include <imbrex/device/star/star_on_host.h>
#include <imbrex/imbrex.h>
#include <imbrex/tuner.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <vector>

#include "steps.h"

namespace ix = imbrex;

namespace {

constexpr int nx = 46, ny = 37, nz = 24, depth = 3, rounds = 4;
constexpr double outside = 0.25;
constexpr conduction rule{0.11, 0.07, 0.05, 1 - 2 * (0.11 + 0.07 + 0.05)};

double first_value(int x, int y, int z) { return std::sin(0.3 * x) + 0.01 * y * z + (z == 5 ? 3.0 : 0.0); }

struct layer : ix::chare<layer, ix::index1d> {
  layer()
      : grid{.nx = nx,
             .ny = ny,
             .nz = nz / extent().x,
             .pitch = 64,
             .plane = 64 * (ny + 2 * depth),
             .open = {},
             .outside = outside},
        now(on_device(), size()),
        next(on_device(), size()),
        on_host(on_device(), size(), ix::memory_kind::pinned) {
    around = ix::neighbours(index(), extent());
    for (const auto& there : around) {
      grid.open[static_cast<int>(there.offset[0] < 0 ? ix::star_side::z_low : ix::star_side::z_high)] = true;
      halo.connect(*this, array(), there, planes());
    }
  }

  ix::task<> run(bool returns) {
    ix::stream& s = streams().compute;
    each_cell(
        [this](int x, int y, int z) { *place(on_host.data(), x, y, z) = first_value(x, y, z + grid.nz * index().x); });
    ix::copy<double>(now, on_host, s);
    for (int r = 0; r < rounds; ++r) {
      // Whole planes, with what stands beside their rows, need no packing.
      co_await halo.begin(s);
      for (int i = 0; i < halo.size(); ++i) {
        const int from = towards(i) < 0 ? 0 : grid.nz - depth;
        s.copy(halo.out(i).data, now.data() + first_of_plane(from), planes() * sizeof(double));
      }
      halo.send(s);
      co_await halo.receive(s);
      for (int i = 0; i < halo.size(); ++i) {
        const int to = towards(i) < 0 ? -depth : grid.nz;
        s.copy(now.data() + first_of_plane(to), halo.in(i).data, planes() * sizeof(double));
      }
      halo.release();
      double* const a = place(now.data(), 0, 0, 0);
      double* const b = place(next.data(), 0, 0, 0);
      if (on_device().kind() == ix::device_kind::cuda) {
        if (steps_on_gpu(s, grid, a, b, depth, rule) == b) std::swap(now, next);
      } else {
        s.call("steps", [this, a, b] { ix::star_steps_on_host(grid, a, b, depth, rule); });
        std::swap(now, next);  // after an odd number of steps
      }
    }
    ix::copy<double>(on_host, now, s);
    co_await s.done();
    std::vector<double> mine;
    if (returns) mine.push_back(index().x);
    if (returns) each_cell([&](int x, int y, int z) { mine.push_back(*place(on_host.data(), x, y, z)); });
    contribute(mine, ix::concatenate);
  }

 private:
  std::int64_t first_of_plane(int z) const { return (z + depth) * grid.plane; }
  std::size_t planes() const { return static_cast<std::size_t>(depth * grid.plane); }
  std::size_t size() const { return static_cast<std::size_t>((grid.nz + 2 * depth) * grid.plane) + 64; }
  int towards(int i) const { return around[static_cast<std::size_t>(i)].offset[0]; }
  double* place(double* field, int x, int y, int z) const {
    return field + first_of_plane(z) + (y + depth) * grid.pitch + 8 + x;
  }
  template <class F>
  void each_cell(F f) const {
    for (int z = 0; z < grid.nz; ++z)
      for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x) f(x, y, z);
  }

  ix::star_grid grid;
  ix::buffer<double> now, next, on_host;
  ix::halo<double> halo;
  std::vector<ix::neighbour<ix::index1d>> around;
};

ix::task<std::vector<double>> heat(ix::runtime& rt, int layers, bool returns) {
  const auto all = rt.create_array<layer>(ix::index1d{layers});
  all.broadcast<&layer::run>(returns);
  const auto got = co_await all.reduction<std::vector<double>>();
  all.destroy();
  co_await rt.quiescence();
  if (!returns) co_return got;
  std::vector<double> field(got.size() - static_cast<std::size_t>(layers));
  const std::size_t one = field.size() / static_cast<std::size_t>(layers);
  for (std::size_t k = 0; k < got.size(); k += one + 1)  // in any order
    std::copy_n(got.begin() + static_cast<std::ptrdiff_t>(k + 1), one,
                field.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(got[k]) * one));
  co_return field;
}

std::vector<double> expected() {
  std::vector<double> field(nx * ny * nz), next(field);
  const auto index = [](int x, int y, int z) { return static_cast<std::size_t>((z * ny + y) * nx + x); };
  const auto at = [&](int x, int y, int z) {
    const bool is_there = x >= 0 && y >= 0 && z >= 0 && x < nx && y < ny && z < nz;
    return is_there ? field[index(x, y, z)] : outside;
  };
  const auto each = [](auto f) {
    for (int z = 0; z < nz; ++z)
      for (int y = 0; y < ny; ++y)
        for (int x = 0; x < nx; ++x) f(x, y, z);
  };
  each([&](int x, int y, int z) { field[index(x, y, z)] = first_value(x, y, z); });
  for (int k = 0; k < rounds * depth; ++k) {
    each([&](int x, int y, int z) {
      const double sum = rule.in_plane(at(x, y, z), at(x - 1, y, z), at(x + 1, y, z), at(x, y - 1, z), at(x, y + 1, z),
                                       at(x, y, z - 1));
      next[index(x, y, z)] = rule.complete(sum, at(x, y, z), at(x, y, z + 1));
    });
    std::swap(field, next);
  }
  return field;
}

ix::task<int> start(ix::runtime& rt) {
  ix::tuner t(rt, "several_steps", "a pile", {{"layers", {1, 2, 4, 8}}});
  while (const auto p = t.next()) {
    const auto began = ix::clock::now();
    auto one = heat(rt, (*p)["layers"], false);
    co_await one;
    t.tell(std::chrono::duration<double>(ix::clock::now() - began).count());
  }
  const std::vector<double> right = expected();
  for (const int layers : {1, 3, 8, t.best()["layers"]}) {
    auto one = heat(rt, layers, true);
    const std::vector<double> found = co_await one;
    double most = found.size() == right.size() ? 0 : 1;
    for (std::size_t i = 0; i < right.size() && most < 1; ++i) most = std::max(most, std::abs(found[i] - right[i]));
    if (most > 1e-12) {
      fmt::print("{} layers: {} beside the plain loops\n", layers, most);
      co_return 1;
    }
  }
  fmt::print("several steps ok\n");
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
