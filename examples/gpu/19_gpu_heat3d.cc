// Heat in a cube of metal, in three dimensions, on GPUs: rounds that are repeated. An iteration of a block is one
// kernel, which also writes what its neighbours need. After the first few iterations the runtime has recorded them and
// does them again as one CUDA graph for all blocks and GPUs, with one launch for all blocks of a GPU: blocks can be
// small and many. On the host, in several processes and where CUDA is not there the same program runs, called as ever.
//
//   build/default/bin/19_gpu_heat3d                                                16^3 cells in 2 x 2 x 2 blocks
//   build/default/bin/19_gpu_heat3d 192 2 4 4 3000 --imbrex-device=cuda            says what an iteration takes
//   build/default/bin/19_gpu_heat3d 192 2 4 4 3000 plainly --imbrex-device=cuda    the same, iterations one by one
//   build/default/bin/19_gpu_heat3d 192 2 4 4 3000 store --imbrex-device=cuda      edges stored on the neighbours' GPUs
#include "19_gpu_heat3d.h"

#include <fmt/core.h>
#include <imbrex/base/build_config.h>
#include <imbrex/clock.h>
#include <imbrex/imbrex.h>

#include <array>
#include <string>
#include <vector>

namespace ix = imbrex;

double beyond(const sweep& t, side f, int k) { return t.halo[f] != nullptr ? t.halo[f][k] : 0.0; }

void update_on_host(const sweep& t) {
  const int nx = t.nx, ny = t.ny, nz = t.nz, plane = nx * ny;
  for (int z = 0, i = 0; z < nz; ++z) {
    for (int y = 0; y < ny; ++y) {
      for (int x = 0; x < nx; ++x, ++i) {
        const double w = x > 0 ? t.now[i - 1] : beyond(t, west, z * ny + y);
        const double e = x < nx - 1 ? t.now[i + 1] : beyond(t, east, z * ny + y);
        const double s = y > 0 ? t.now[i - nx] : beyond(t, south, z * nx + x);
        const double n = y < ny - 1 ? t.now[i + nx] : beyond(t, north, z * nx + x);
        const double b = z > 0 ? t.now[i - plane] : beyond(t, bottom, y * nx + x);
        const double a = z < nz - 1 ? t.now[i + plane] : beyond(t, top, y * nx + x);
        const double v = (t.now[i] + w + e + s + n + b + a) * (1.0 / 7);
        t.next[i] = v;
        if (x == 0 && t.edge[west] != nullptr) t.edge[west][z * ny + y] = v;
        if (x == nx - 1 && t.edge[east] != nullptr) t.edge[east][z * ny + y] = v;
        if (y == 0 && t.edge[south] != nullptr) t.edge[south][z * nx + x] = v;
        if (y == ny - 1 && t.edge[north] != nullptr) t.edge[north][z * nx + x] = v;
        if (z == 0 && t.edge[bottom] != nullptr) t.edge[bottom][y * nx + x] = v;
        if (z == nz - 1 && t.edge[top] != nullptr) t.edge[top][y * nx + x] = v;
      }
    }
  }
}

void update(ix::stream& s, const sweep& t) {
#if IMBREX_HAVE_CUDA
  if (s.on().kind() == ix::device_kind::cuda) {
    gpu_update(s, t);
    return;
  }
#endif
  s.call("update", [t] { update_on_host(t); });
}

class block : public ix::chare<block, ix::index3d> {
 public:
  block(int n, ix::halo_path path) : faces_(ix::memory_kind::device, path) {
    const std::array<int, 3> at{index().x, index().y, index().z}, of{extent().x, extent().y, extent().z};
    std::array<std::size_t, 3> size{};
    for (std::size_t d = 0; d < 3; ++d) {
      size[d] = static_cast<std::size_t>(n * (at[d] + 1) / of[d] - n * at[d] / of[d]);
      n_[d] = static_cast<int>(size[d]);
    }
    num_cells_ = size[0] * size[1] * size[2];
    now_ = ix::buffer<double>(on_device(), num_cells_);
    next_ = ix::buffer<double>(on_device(), num_cells_);
    on_host_ = ix::buffer<double>(on_device(), num_cells_, ix::memory_kind::pinned);
    for (const auto& there : ix::neighbours(index(), extent())) {
      const std::size_t d = there.offset[0] != 0 ? 0 : there.offset[1] != 0 ? 1 : 2;
      sides_.push_back(static_cast<side>(2 * d + (there.offset[d] > 0 ? 1 : 0)));
      faces_.connect(*this, array(), there, there.cells(size));
    }
  }

  // Hot everywhere, and so are the edges that the neighbours get first.
  ix::task<> heat_up() {
    ix::stream& s = streams().compute;
    for (std::size_t i = 0; i < num_cells_; ++i) on_host_.data()[i] = 100;
    ix::copy<double>(now_, on_host_, s);
    co_await faces_.begin(s);
    for (int k = 0; k < faces_.size(); ++k) s.copy(faces_.out(k).data, on_host_.data(), faces_.out(k).bytes());
    co_await s.done();
    contribute(0, ix::sum);
  }

  ix::task<> iteration(int) {
    ix::stream& s = streams().compute;
    faces_.send(s);
    co_await faces_.receive(s);
    co_await faces_.begin(s);
    sweep t{.nx = n_[0], .ny = n_[1], .nz = n_[2], .now = now_.data(), .next = next_.data()};
    for (int k = 0; k < faces_.size(); ++k) {
      const side f = sides_[static_cast<std::size_t>(k)];
      t.halo[f] = faces_.in(k).data;
      t.edge[f] = faces_.out(k).data;
    }
    update(s, t);
    faces_.release();
    std::swap(now_, next_);
  }

  ix::task<> run(int iterations, bool plainly) {
    if (plainly) {
      for (int i = 0; i < iterations; ++i) {
        auto one = iteration(i);
        co_await one;
      }
    } else {
      auto all = ix::repeat(*this, iterations, &block::iteration);
      co_await all;
    }
    co_await streams().compute.done();
    contribute(0, ix::sum);
  }

  ix::task<> heat_left() {
    ix::copy<double>(on_host_, now_, streams().compute);
    co_await streams().compute.done();
    double sum = 0;
    for (std::size_t i = 0; i < num_cells_; ++i) sum += on_host_.data()[i];
    contribute(sum, ix::sum);
  }

 private:
  std::array<int, 3> n_{};
  std::size_t num_cells_ = 0;
  ix::buffer<double> now_, next_, on_host_;
  ix::halo<double> faces_;
  std::vector<side> sides_;  // where its neighbours are
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> a) {
  const auto number = [&a](std::size_t i, int otherwise) { return i < a.size() ? std::stoi(a[i]) : otherwise; };
  const int n = number(0, 16), nx = number(1, 2), ny = number(2, 2), nz = number(3, 2), iterations = number(4, 40);
  const std::string how = a.size() > 5 ? a[5] : "";
  if (n / nx % 2 != 0 || n % nx != 0) throw ix::usage_error("blocks need an even number of cells in x, all the same");
  const auto path = how == "store" ? ix::halo_path::store : ix::halo_path::device;
  const auto blocks = rt.create_array<block>(ix::index3d{nx, ny, nz}, n, path);
  blocks.broadcast<&block::heat_up>();
  co_await blocks.reduction<int>();
  const int times = a.size() > 4 ? 4 : 1;  // of which the first is not looked at
  for (int r = 0; r < times; ++r) {
    const auto before = ix::clock::now();
    blocks.broadcast<&block::run>(iterations, how == "plainly");
    co_await blocks.reduction<int>();
    const std::chrono::duration<double, std::micro> took = ix::clock::now() - before;
    if (r > 0) fmt::print("{:.1f} us an iteration\n", took.count() / iterations);
  }
  blocks.broadcast<&block::heat_left>();
  const double sum = co_await blocks.reduction<double>();
  const double cells = static_cast<double>(n) * n * n;
  fmt::print("mean temperature after {} iterations: {:.9f}\n", times * iterations, sum / cells);
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
