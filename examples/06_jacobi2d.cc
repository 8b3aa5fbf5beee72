// Jacobi in two dimensions: overdecomposition at work, in one page.
//
// A square plate with one hot edge is cut into more blocks than there are PEs. Every block is a chare that sends its
// edges to its neighbours and waits for theirs; while it waits, its PE computes another block. Every few iterations the
// largest change is found by a reduction, which travels while the blocks go on: they ask for the verdict only when they
// come to the next check. The result has the same bits for any number of blocks, PEs and ranks.
//
//   build/default/bin/06_jacobi2d                       8 x 8 blocks on one PE per core
//   build/default/bin/06_jacobi2d --imbrex-pes 4        four PEs, so odf (chares per PE) is 16
//   mpirun -n 2 build/default/bin/06_jacobi2d           two processes
//   build/default/bin/06_jacobi2d 512 4                 512 x 512 cells, 4 x 4 blocks
//   build/default/bin/06_jacobi2d --imbrex-trace t.json and then: build/default/bin/imbrex trace summary t.json
#include <fmt/core.h>
#include <imbrex/imbrex.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace ix = imbrex;

enum side { west, east, south, north };
constexpr int check_every = 100;
constexpr int picture_x = 32, picture_y = 12;

class block : public ix::chare<block, ix::index2d> {
 public:
  ix::when<int, std::vector<double>> halo;  // reference number: 4 * iteration + side
  ix::when<int, bool> verdict;              // of check number ...: whether it is enough

  explicit block(int n)
      : n_(n),
        x0_(n * index().x / extent().x),
        y0_(n * index().y / extent().y),
        nx_(n * (index().x + 1) / extent().x - x0_),
        ny_(n * (index().y + 1) / extent().y - y0_),
        now_(static_cast<std::size_t>((nx_ + 2) * (ny_ + 2)), 0.0) {
    const auto [x, y] = index();
    if (x > 0) neighbours_.push_back({west, array()[{x - 1, y}]});
    if (x < extent().x - 1) neighbours_.push_back({east, array()[{x + 1, y}]});
    if (y > 0) neighbours_.push_back({south, array()[{x, y - 1}]});
    if (y < extent().y - 1) neighbours_.push_back({north, array()[{x, y + 1}]});
    if (x == 0) put(west, std::vector<double>(static_cast<std::size_t>(ny_), 1.0));  // the hot edge
    next_ = now_;
  }

  ix::task<> run(int max_iterations) {
    for (int i = 0; i < max_iterations; ++i) {
      for (const auto& [s, neighbour] : neighbours_) {
        neighbour.send<&block::halo>(4 * i + (s ^ 1), edge(s));  // our east is its west: the two differ in one bit
      }
      for (const auto& [s, neighbour] : neighbours_) {
        const auto [values] = co_await halo(4 * i + s);  // another block runs meanwhile
        put(s, values);
      }
      const double change = update();
      if ((i + 1) % check_every != 0) continue;
      if (const int previous = i / check_every - 1; previous >= 0) {
        const auto [enough] = co_await verdict(previous);  // came back while we computed on
        if (enough) break;
      }
      contribute(change, ix::max);  // goes to the main chare while we compute on
    }
  }

  // This block's part of a picture of the whole plate; all other pixels are 0.
  void draw() {
    std::vector<double> pixels(picture_x * picture_y, 0.0);
    for (int p = 0; p < picture_x * picture_y; ++p) {
      const int x = p % picture_x * n_ / picture_x - x0_, y = p / picture_x * n_ / picture_y - y0_;
      if (x >= 0 && x < nx_ && y >= 0 && y < ny_) pixels[static_cast<std::size_t>(p)] = now_[at(x, y)];
    }
    contribute(pixels, ix::sum);
  }

 private:
  std::size_t at(int x, int y) const { return static_cast<std::size_t>((y + 1) * (nx_ + 2) + x + 1); }

  // The cells along a side: those inside, or the ghost cells beyond it.
  template <class F>
  void along(side s, bool ghosts, F f) {
    const int g = ghosts ? 1 : 0;
    if (s == west || s == east) {
      for (int y = 0; y < ny_; ++y) f(now_[at(s == west ? -g : nx_ - 1 + g, y)]);
    } else {
      for (int x = 0; x < nx_; ++x) f(now_[at(x, s == south ? -g : ny_ - 1 + g)]);
    }
  }
  std::vector<double> edge(side s) {
    std::vector<double> values;
    along(s, false, [&](double cell) { values.push_back(cell); });
    return values;
  }
  void put(side s, const std::vector<double>& values) {
    auto value = values.begin();
    along(s, true, [&](double& cell) { cell = *value++; });
  }

  // One iteration; returns the largest change of a cell.
  double update() {
    double change = 0;
    for (int y = 0; y < ny_; ++y) {
      for (int x = 0; x < nx_; ++x) {
        const double mean = 0.25 * (now_[at(x - 1, y)] + now_[at(x + 1, y)] + now_[at(x, y - 1)] + now_[at(x, y + 1)]);
        change = std::max(change, std::abs(mean - now_[at(x, y)]));
        next_[at(x, y)] = mean;
      }
    }
    std::swap(now_, next_);
    return change;
  }

  int n_, x0_, y0_, nx_, ny_;
  std::vector<double> now_, next_;
  std::vector<std::pair<side, ix::element_proxy<block>>> neighbours_;
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
