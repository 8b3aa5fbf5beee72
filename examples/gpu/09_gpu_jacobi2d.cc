// Jacobi in two dimensions on GPUs: 06_jacobi2d with its cells in GPU memory, and the same result to the bit.
//
// Blocks exchange their edges by a halo: memory for each neighbour, which reads it where it is. Between GPUs of a
// process a message goes ahead of its data: it says from where the receiver's kernel may read, and after which kernel.
// The host waits for messages only, never for a GPU, and is soon many iterations ahead of it; once in check_every
// iterations it wants a number and waits.
//
//   build/default/bin/09_gpu_jacobi2d                          8 x 8 blocks, on the host
//   build/default/bin/09_gpu_jacobi2d --imbrex-device=auto     on GPUs where there are some, one PE for each of them
//   build/default/bin/09_gpu_jacobi2d --imbrex-device=cuda 8192 4              8192 x 8192 cells, 4 x 4 blocks
//   mpirun -n 2 build/default/bin/09_gpu_jacobi2d --imbrex-device=auto         two processes
#include "09_gpu_jacobi2d.h"

#include <fmt/core.h>
#include <imbrex/base/build_config.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace ix = imbrex;

constexpr int check_every = 100;
constexpr int picture_x = 32, picture_y = 12;

void update(ix::stream& s, const sweep& t) {
#if IMBREX_HAVE_CUDA
  if (s.on().kind() == ix::device_kind::cuda) {
    gpu_update(s, t);
    return;
  }
#endif
  s.call("update", [t] {
    double change = 0;
    for (int y = 0; y < t.ny; ++y) {
      for (int x = 0; x < t.nx; ++x) change = std::max(change, update_cell(t, x, y));
    }
    if (t.change != nullptr) *t.change = change;
  });
}

class block : public ix::chare<block, ix::index2d> {
 public:
  ix::when<int, bool> verdict;  // of check number ...: whether it is enough

  explicit block(int n)
      : n_(n),
        x0_(n * index().x / extent().x),
        y0_(n * index().y / extent().y),
        nx_(n * (index().x + 1) / extent().x - x0_),
        ny_(n * (index().y + 1) / extent().y - y0_),
        num_cells_(static_cast<std::size_t>(nx_ * ny_)),
        now_(on_device(), num_cells_),
        next_(on_device(), num_cells_),
        change_(on_device(), 1),
        on_host_(on_device(), num_cells_, ix::memory_kind::pinned) {
    for (const auto& there : ix::neighbours(index(), extent())) {
      const std::size_t axis = there.offset[0] != 0 ? 0 : 1;
      sides_.push_back(static_cast<side>(2 * axis + (there.offset[axis] > 0 ? 1 : 0)));
      edges_.connect(*this, array(), there, static_cast<std::size_t>(axis == 0 ? ny_ : nx_));
    }
  }

  ix::task<> run(int max_iterations) {
    ix::stream& s = streams().compute;
    s.fill(now_.data(), 0, num_cells_ * sizeof(double));
    co_await edges_.begin(s);
    for (int i = 0; i < edges_.size(); ++i) s.fill(edges_.out(i).data, 0, edges_.out(i).bytes());
    for (int i = 0; i < max_iterations; ++i) {
      edges_.send(s);
      co_await edges_.receive(s);  // another block runs meanwhile
      co_await edges_.begin(s);    // of the next round: `update` writes what it sends
      const bool is_check = (i + 1) % check_every == 0;
      if (is_check) s.fill(change_.data(), 0, sizeof(double));
      update(s, next_sweep(is_check));
      edges_.release();  // the neighbours' edges have been read by then
      std::swap(now_, next_);
      if (!is_check) continue;

      ix::copy<double>(on_host_, change_, s);
      co_await s.done();
      if (const int previous = i / check_every - 1; previous >= 0) {
        const auto [enough] = co_await verdict(previous);  // came back while we computed on
        if (enough) break;
      }
      contribute(*on_host_.data(), ix::max);  // goes to the main chare while we compute on
    }
  }

  // This block's part of a picture of the whole plate; all other pixels are 0.
  ix::task<> draw() {
    ix::copy<double>(on_host_, now_, streams().compute);
    co_await streams().compute.done();
    std::vector<double> pixels(picture_x * picture_y, 0.0);
    for (int p = 0; p < picture_x * picture_y; ++p) {
      const int x = p % picture_x * n_ / picture_x - x0_, y = p / picture_x * n_ / picture_y - y0_;
      if (x >= 0 && x < nx_ && y >= 0 && y < ny_) pixels[static_cast<std::size_t>(p)] = on_host_.data()[y * nx_ + x];
    }
    contribute(pixels, ix::sum);
  }

 private:
  sweep next_sweep(bool is_check) {
    sweep t{.nx = nx_, .ny = ny_, .now = now_.data(), .next = next_.data(), .change = nullptr};
    for (int i = 0; i < edges_.size(); ++i) {
      const side s = sides_[static_cast<std::size_t>(i)];
      t.halo[s] = edges_.in(i).data;
      t.edge[s] = edges_.out(i).data;
    }
    if (is_check) t.change = change_.data();
    return t;
  }

  int n_, x0_, y0_, nx_, ny_;
  std::size_t num_cells_;
  ix::buffer<double> now_, next_, change_, on_host_;
  ix::halo<double> edges_;
  std::vector<side> sides_;  // where its neighbours are
};

ix::task<int> start(ix::runtime& rt, std::vector<std::string> arguments) {
  const int n = !arguments.empty() ? std::stoi(arguments[0]) : 64;
  const int blocks_per_side = arguments.size() > 1 ? std::stoi(arguments[1]) : 8;
  if (blocks_per_side < 1 || n < blocks_per_side) throw ix::usage_error("every block needs at least one cell");
  constexpr int max_checks = 40;
  constexpr double tolerance = 1e-4;

  const auto blocks = rt.create_array<block>({blocks_per_side, blocks_per_side}, n);
  blocks.broadcast<&block::run>(max_checks * check_every);
  for (int check = 0; check < max_checks; ++check) {
    const double change = co_await blocks.reduction<double>();
    fmt::print("iteration {:4}: largest change {:.3e}\n", (check + 1) * check_every, change);
    blocks.broadcast<&block::verdict>(check, change < tolerance);
    if (change < tolerance) break;
  }
  co_await rt.quiescence();

  blocks.broadcast<&block::draw>();
  const auto pixels = co_await blocks.reduction<std::vector<double>>();
  for (std::size_t p = 0; p < pixels.size(); ++p) {
    fmt::print("{}{}", " .:-=+*#%@"[std::min(static_cast<int>(pixels[p] * 10), 9)],
               p % picture_x == picture_x - 1 ? "\n" : "");
  }
  co_return 0;
}

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
