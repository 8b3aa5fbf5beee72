// What placement policies make of Cholesky's graph on several GPUs, in virtual time: tasks that take what cuBLAS and
// cuSOLVER take on an H200 for tiles of 2048 (bench/results/gpus/2026-11-27-h200-x4-cholesky.md), and compute nothing.
//
//   bench_cholesky_policies 16 2048 --imbrex-machine=h200-x4 --imbrex-ranks=1 --imbrex-gpus=4 --imbrex-pes=4
//     --imbrex-device=cuda --imbrex-task-policy=shortest_finish
//
// 16 x 16 tiles, each of so many elements in a row; memory of the host is taken for all of them. For less of it take
// tiles of 512, and a machine whose links are 16 times as slow.
#include <fmt/format.h>
#include <imbrex/clock.h>
#include <imbrex/imbrex.h>
#include <imbrex/task_graph.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "policies.hk"

namespace {

namespace ix = imbrex;

/// What a routine takes alone, and how much of the GPU it has meanwhile.
struct routine {
  const char* name;
  double ms, share;
};
constexpr routine potrf{"potrf", 1.07, 0.05}, invert{"invert", 1.37, 0.1}, trsm{"trsm", 0.23, 1}, syrk{"syrk", 0.2, 1},
    gemm{"gemm", 0.3, 1};

void spend(ix::stream& s, const routine& r, double* x) {
  constexpr double flops_of_ms = 34e9, threads = 120'000;  // of a simulated H200
  s.expect({0, r.ms * r.share * flops_of_ms});
  ix::launch(s, nothing, {.groups = {static_cast<unsigned>(threads * r.share / 128)}, .group = {128}}, x);
}

struct request {
  int tiles, size;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & tiles & size;
  }
};

ix::graph_task_options on_gpu(const routine& r, int priority) {
  return {.name = ix::task_name::lasting(r.name), .priority = priority, .on = ix::device_kind::cuda};
}

ix::task<double> factor(ix::task_graph& g, request r) {
  const auto size = static_cast<std::size_t>(r.size);
  ix::distributed<double, ix::index2d> a(g, {r.tiles, r.tiles}, size * size,
                                         ix::map::block_cyclic::over(g.num_ranks()));
  ix::distributed<double> inverse(g, r.tiles, size * size);
  const auto with_one = [](const routine& o) {
    return [o](ix::stream& s, std::span<const double>, std::span<double> x) { spend(s, o, x.data()); };
  };
  std::vector<double> took;
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (int i = 0; i < r.tiles; ++i) {
      for (int j = 0; j <= i; ++j) g.submit({.name = "make"}, [](std::span<double>) {}, write(a(i, j)));
    }
    co_await ix::barrier(g);
    const auto before = ix::clock::now();
    for (int k = 0; k < r.tiles; ++k) {
      g.submit(on_gpu(potrf, 3), [](ix::stream& s, std::span<double> x) { spend(s, potrf, x.data()); }, a(k, k));
      if (k + 1 < r.tiles) {
        g.submit(
            on_gpu(invert, 3),
            [](ix::stream& s, std::span<const double>, std::span<double> x) { spend(s, invert, x.data()); }, a(k, k),
            write(inverse(k)));
      }
      for (int i = k + 1; i < r.tiles; ++i) g.submit(on_gpu(trsm, 2), with_one(trsm), inverse(k), a(i, k));
      for (int i = k + 1; i < r.tiles; ++i) {
        g.submit(on_gpu(syrk, i == k + 1 ? 1 : 0), with_one(syrk), a(i, k), a(i, i));
        for (int j = k + 1; j < i; ++j) {
          g.submit(
              on_gpu(gemm, j == k + 1 ? 1 : 0),
              [](ix::stream& s, std::span<const double>, std::span<const double>, std::span<double> x) {
                spend(s, gemm, x.data());
              },
              a(i, k), a(j, k), a(i, j));
        }
        co_await g.fewer_tasks_than(10'000);
      }
    }
    co_await ix::barrier(g);
    took.push_back(std::chrono::duration<double, std::milli>(ix::clock::now() - before).count());
  }
  co_await g.done();
  std::ranges::sort(took);
  co_return took[1];
}

ix::task<int> start(ix::runtime& rt, std::vector<std::string> words) {
  const request r{!words.empty() ? std::stoi(words[0]) : 16, words.size() > 1 ? std::stoi(words[1]) : 1024};
  const double ms = co_await ix::run_graph<&factor>(rt, r);
  const double n = r.tiles, pairs = n * (n - 1) / 2;
  const double work = n * (potrf.ms * potrf.share + invert.ms * invert.share) + pairs * (trsm.ms + syrk.ms) +
                      pairs * (n - 2) / 3 * gemm.ms;
  const double least = work / std::max(1, rt.num_gpus());
  fmt::print(
      "{{\"tiles\": {}, \"tile\": {}, \"gpus\": {}, \"ms\": {:.1f}, \"work_ms\": {:.1f}, \"efficiency\": {:.2f}}}\n",
      r.tiles, r.size, rt.num_gpus(), ms, least, least / ms);
  co_return 0;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
