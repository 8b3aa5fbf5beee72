// Iterations until they change little: Laplace's equation on a plane, in stripes, on GPUs. Each iteration's kernel says
// how much its cells have changed; the iterations are repeated as one graph, and end when all stripes together have
// changed by less than a tolerance. That is looked at after each 20 iterations, while those that follow are under way.
//
//   build/default/bin/23_gpu_until                                                      64^2 cells in 3 stripes
//   build/default/bin/23_gpu_until 16384 4 1000 0 20 --imbrex-device=cuda               at most 1000 iterations
//   build/default/bin/23_gpu_until 2048 4 20000 1e-3 20 --imbrex-device=cuda            until they change by less
#include "23_gpu_until.h"

#include <fmt/core.h>
#include <imbrex/base/build_config.h>
#include <imbrex/clock.h>
#include <imbrex/imbrex.h>

#include <cmath>
#include <string>
#include <vector>

namespace ix = imbrex;

void update_on_host(const sweep& t) {
  float change = 0;
  for (int y = 0; y < t.ny; ++y) {
    const float* c = t.now + y * t.nx;
    const float *n = y > 0 ? c - t.nx : t.beyond[upper], *s = y < t.ny - 1 ? c + t.nx : t.beyond[lower];
    for (int x = 0; x < t.nx; ++x) {
      const float v = x == 0 || x == t.nx - 1 ? c[x] : 0.25F * (c[x - 1] + c[x + 1] + n[x] + s[x]);
      t.next[y * t.nx + x] = v;
      if (y == 0) t.out[upper][x] = v;
      if (y == t.ny - 1) t.out[lower][x] = v;
      change += (v - c[x]) * (v - c[x]);
    }
  }
  t.change[0] = change;
}

struct stripe : ix::chare<stripe, ix::index1d> {
  explicit stripe(int n)
      : nx_(n),
        y0_(n * index() / extent()),
        ny_(n * (index() + 1) / extent() - y0_),
        rows_(ix::memory_kind::device, ix::halo_path::store) {
    for (auto* f : {&now_, &next_}) *f = ix::buffer<float>(on_device(), num_cells());
    for (const auto& there : ix::neighbours(index(), extent(), {.periodic = {true}})) {
      edges_.push_back(there.offset[0] < 0 ? upper : lower);
      rows_.connect(*this, array(), there, static_cast<std::size_t>(nx_));
    }
  }

  // A wave along both sides, nothing between.
  ix::task<> begin() {
    ix::stream& s = streams().compute;
    ix::buffer<float> cells(on_device(), num_cells(), ix::memory_kind::pinned);
    for (int y = 0; y < ny_; ++y) {
      float* row = cells.data() + y * nx_;
      for (int x = 0; x < nx_; ++x) row[x] = 0;
      row[0] = row[nx_ - 1] = static_cast<float>(std::sin(2 * 3.14159265358979 * (y0_ + y) / nx_));
    }
    ix::copy<float>(now_, cells, s);
    co_await rows_.begin(s);
    for (int k = 0; k < rows_.size(); ++k)
      s.copy(rows_.out(k).data, cells.data() + (edge_of(k) == upper ? 0 : (ny_ - 1) * nx_), rows_.out(k).bytes());
    co_await s.done();
    contribute(0, ix::sum);
  }

  ix::task<> iteration(int) {
    ix::stream& s = streams().compute;
    rows_.send(s);
    co_await rows_.receive(s);
    co_await rows_.begin(s);
    sweep t{.nx = nx_, .ny = ny_, .now = now_.data(), .next = next_.data()};
    for (int k = 0; k < rows_.size(); ++k) {
      t.beyond[edge_of(k)] = rows_.in(k).data;
      t.out[edge_of(k)] = rows_.out(k).data;
    }
    update(s, t);
    rows_.release();
    std::swap(now_, next_);
  }

  void update(ix::stream& s, sweep& t) {
#if IMBREX_HAVE_CUDA
    if (s.on().kind() == ix::device_kind::cuda) {
      t.change = change_.parts(s, static_cast<std::size_t>(num_gpu_groups(t.nx, t.ny)));
      return gpu_update(s, t);
    }
#endif
    t.change = change_.parts(s, 1);
    s.call("update", [t] { update_on_host(t); });
  }

  ix::task<> run(int most, float tolerance, int every) {
    auto little = [tolerance](float squares) { return std::sqrt(squares) < tolerance; };
    auto all = ix::repeat(*this, most, &stripe::iteration, ix::until(change_, ix::sum, little, every));
    const int iterations = co_await all;
    co_await streams().compute.done();
    contribute(iterations, ix::max);
  }

 private:
  std::size_t num_cells() const { return static_cast<std::size_t>(nx_ * ny_); }
  edge edge_of(int k) const { return edges_[static_cast<std::size_t>(k)]; }

  int nx_, y0_, ny_;
  ix::buffer<float> now_, next_;
  ix::halo<float> rows_;
  std::vector<edge> edges_;  // where its neighbours are
  ix::round_value<float> change_;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> a) {
  const int n = a.size() > 0 ? std::stoi(a[0]) : 64, stripes = a.size() > 1 ? std::stoi(a[1]) : 3,
            most = a.size() > 2 ? std::stoi(a[2]) : 5000, every = a.size() > 4 ? std::stoi(a[4]) : 20;
  const float tolerance = a.size() > 3 ? std::stof(a[3]) : 1e-3F;
  if (n < 4 || n % 4 != 0 || stripes < 1 || stripes > n) throw ix::usage_error("a row has 4, 8, 12 ... cells");
  const int times = a.empty() ? 1 : 4;
  for (int r = 0; r < times; ++r) {
    const auto all = rt.create_array<stripe>(ix::index1d(stripes), n);
    all.broadcast<&stripe::begin>();
    co_await all.reduction<int>();
    const auto before = ix::clock::now();
    all.broadcast<&stripe::run>(most, tolerance, every);
    const int iterations = co_await all.reduction<int>();
    const std::chrono::duration<double, std::micro> took = ix::clock::now() - before;
    if (r == 0) fmt::print("{} iterations\n", iterations);
    if (r > 0) fmt::print("{:.1f} us an iteration\n", took.count() / iterations);
    all.destroy();
  }
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
