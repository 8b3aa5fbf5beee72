// Heat in a cube of metal, several steps in one pass over memory: blocks exchange what lies within `steps` cells of
// their sides, edges and corners, and then do so many iterations without a word. On a GPU `star_steps` does four of
// them for little more than the time of one. The same program, with the same result, runs on the host.
//
//   build/default/bin/20_gpu_steps                                           16^3 cells in 2 x 2 x 2 blocks
//   build/default/bin/20_gpu_steps 768 1 1 4 400 4 --imbrex-device=cuda      says what an iteration takes
//   build/default/bin/20_gpu_steps 768 1 1 4 400 1 --imbrex-device=cuda      the same with an exchange for each
#include "20_gpu_steps.h"

#include <fmt/core.h>
#include <imbrex/base/build_config.h>
#include <imbrex/clock.h>
#include <imbrex/device/star/star_on_host.h>
#include <imbrex/imbrex.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace ix = imbrex;

class block : public ix::chare<block, ix::index3d> {
 public:
  block(int n, int steps) : steps_(steps) {
    const std::array<int, 3> at{index().x, index().y, index().z}, of{extent().x, extent().y, extent().z};
    std::array<std::size_t, 3> size{};
    for (std::size_t d = 0; d < 3; ++d) size[d] = static_cast<std::size_t>(n / of[d]);
    grid_ = {.nx = n / of[0], .ny = n / of[1], .nz = n / of[2]};
    for (std::size_t d = 0; d < 3; ++d) {
      grid_.open[2 * d] = at[d] > 0;
      grid_.open[2 * d + 1] = at[d] < of[d] - 1;
    }
    // Rows of whole cache lines, which begin 16 cells before the first cell: room for ghosts.
    grid_.pitch = (grid_.nx + 32 + 15) / 16 * 16;
    grid_.plane = grid_.pitch * (grid_.ny + 2 * steps);
    origin_ = steps * (grid_.plane + grid_.pitch) + 16;
    size_ = static_cast<std::size_t>(grid_.plane * (grid_.nz + 2 * steps) + 32);
    for (auto& f : fields_) f = ix::buffer<double>(on_device(), size_);
    on_host_ = ix::buffer<double>(on_device(), size_, ix::memory_kind::pinned);
    now_ = fields_[0].data() + origin_;
    next_ = fields_[1].data() + origin_;
    around_ = ix::neighbours(index(), extent(), {.diagonal = true});
    for (const auto& there : around_)
      halos_.connect(*this, array(), there, there.cells(size, static_cast<std::size_t>(steps)));
  }

  ix::task<> run(int iterations) {
    ix::stream& s = streams().compute;
    for (int left = iterations; left > 0; left -= steps_) {
      co_await halos_.begin(s);
      pack(s);
      halos_.send(s);
      co_await halos_.receive(s);  // another block computes meanwhile
      unpack(s);
      halos_.release();
      advance(s, std::min(steps_, left));
    }
    co_await s.done();
    contribute(0, ix::sum);
  }

  ix::task<> heat_up() {
    ix::stream& s = streams().compute;
    for (std::size_t i = 0; i < size_; ++i) on_host_.data()[i] = 100;
    for (auto& f : fields_) ix::copy<double>(f, on_host_, s);
    co_await s.done();
    contribute(0, ix::sum);
  }

  ix::task<> heat_left() {
    ix::stream& s = streams().compute;
    s.copy(on_host_.data(), now_ - origin_, size_ * sizeof(double));
    co_await s.done();
    double sum = 0;
    for (int z = 0; z < grid_.nz; ++z)
      for (int y = 0; y < grid_.ny; ++y)
        for (int x = 0; x < grid_.nx; ++x) sum += on_host_.data()[origin_ + z * grid_.plane + y * grid_.pitch + x];
    contribute(sum, ix::sum);
  }

 private:
  std::vector<ix::star_halo> buffers(bool out) {
    std::vector<ix::star_halo> all;
    for (int k = 0; k < halos_.size(); ++k) {
      double* const cells = out ? halos_.out(k).data : const_cast<double*>(halos_.in(k).data);
      all.push_back({around_[static_cast<std::size_t>(k)].offset, cells});
    }
    return all;
  }
  bool on_gpu() { return IMBREX_HAVE_CUDA && on_device().kind() == ix::device_kind::cuda; }

  void pack(ix::stream& s) {
    const auto to = buffers(true);
#if IMBREX_HAVE_CUDA
    if (on_gpu()) return gpu_pack(s, grid_, now_, steps_, to);
#endif
    s.call("pack", [this, to, from = now_] { ix::star_pack_on_host(grid_, from, steps_, to); });
  }
  void unpack(ix::stream& s) {
    const auto from = buffers(false);
#if IMBREX_HAVE_CUDA
    if (on_gpu()) return gpu_unpack(s, grid_, now_, steps_, from);
#endif
    s.call("unpack", [this, from, to = now_] { ix::star_unpack_on_host(grid_, to, steps_, from); });
  }
  void advance(ix::stream& s, int steps) {
#if IMBREX_HAVE_CUDA
    if (on_gpu()) {
      if (gpu_steps(s, grid_, now_, next_, steps) == next_) std::swap(now_, next_);
      return;
    }
#endif
    s.call("steps", [this, steps, now = now_, next = next_] {
      ix::star_steps_on_host(grid_, now, next, steps, mean_of_seven{});
    });
    if (steps % 2 != 0) std::swap(now_, next_);
  }

  int steps_;
  ix::star_grid grid_;
  std::int64_t origin_ = 0;  // where cell (0, 0, 0) is in the memory of a field
  std::size_t size_ = 0;
  std::array<ix::buffer<double>, 2> fields_;
  ix::buffer<double> on_host_;
  double *now_ = nullptr, *next_ = nullptr;
  std::vector<ix::neighbour<ix::index3d>> around_;
  ix::halo<double> halos_;
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> a) {
  const auto number = [&a](std::size_t i, int otherwise) { return i < a.size() ? std::stoi(a[i]) : otherwise; };
  const int n = number(0, 16), nx = number(1, 2), ny = number(2, 2), nz = number(3, 2);
  const int iterations = number(4, 40), steps = number(5, 4);
  if (n % nx != 0 || n % ny != 0 || n % nz != 0) throw ix::usage_error("all blocks need the same number of cells");
  if (steps < 1 || steps > 15 || steps > n / std::max({nx, ny, nz}))
    throw ix::usage_error("1 to 15 steps, and blocks of as many cells");
  const auto blocks = rt.create_array<block>(ix::index3d{nx, ny, nz}, n, steps);
  blocks.broadcast<&block::heat_up>();
  co_await blocks.reduction<int>();
  const int times = a.size() > 4 ? 4 : 1;  // of which the first is not looked at
  for (int r = 0; r < times; ++r) {
    const auto before = ix::clock::now();
    blocks.broadcast<&block::run>(iterations);
    co_await blocks.reduction<int>();
    const std::chrono::duration<double, std::micro> took = ix::clock::now() - before;
    if (r > 0) fmt::print("{:.1f} us an iteration\n", took.count() / iterations);
  }
  blocks.broadcast<&block::heat_left>();
  const double sum = co_await blocks.reduction<double>();
  fmt::print("mean temperature after {} iterations: {:.9f}\n", times * iterations,
             sum / (static_cast<double>(n) * n * n));
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
