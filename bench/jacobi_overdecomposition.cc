// What overdecomposition costs on a CPU: jacobi3d on the runtime with 8, 64 and 512 chares against bare threads with
// the same kernel (apps/jacobi3d/bare_threads.h), interleaved in one run.
//
//   build/default/bin/bench_jacobi_overdecomposition [extent=192] [iterations=50] [rounds=5] [threads=2]
//
// Prints the median time per iteration of each and its ratio to bare threads; JSON on the last line. The jacobi3d
// beside this program is run for the chare figures.
#include <fmt/format.h>
#include <imbrex/base/topology.h>

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bare_threads.h"
#include "field/initial_state.h"

namespace {

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

double bare(std::int64_t n, int threads, std::int64_t iterations) {
  const jacobi::extents grid{n, n, n};
  const auto bytes = static_cast<std::uint64_t>(2 * 8 * grid.cells());
  const jacobi::update_kernel kernel({}, jacobi::choose_store_policy(bytes));
  jacobi::bare_threads b(grid, 0.0, kernel, threads);
  jacobi::set_initial_state(b.field(), grid, {0, 0, 0, grid}, {}, {});
  b.run(5);
  return b.run(iterations);
}

double chares(const std::string& program, std::int64_t n, int threads, std::int64_t iterations, int count) {
  const std::string report =
      (std::filesystem::temp_directory_path() / fmt::format("imbrex_bench_{}.json", getpid())).string();
  const std::string command = fmt::format("{} -x {} -c {} --pes {} -w 5 -i {} --repeats 1 --quiet --report {}", program,
                                          n, count, threads, iterations, report);
  if (std::system(command.c_str()) != 0) {
    fmt::print(stderr, "bench_jacobi_overdecomposition: this failed: {}\n", command);
    std::exit(1);
  }
  std::ifstream in(report);
  const auto json = nlohmann::json::parse(in);
  std::filesystem::remove(report);
  return json.at("time_per_iteration_us").at("median").get<double>();
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 192;
  const std::int64_t iterations = argc > 2 ? std::atoll(argv[2]) : 50;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  const int threads = argc > 4 ? std::atoi(argv[4]) : 2;
  const std::string program = (std::filesystem::path(argv[0]).parent_path() / "jacobi3d").string();
  const std::vector<int> counts{threads, 8, 64, 512};
  std::map<int, std::vector<double>> times;  // 0: bare threads
  for (int r = 0; r < rounds; ++r) {
    times[0].push_back(bare(n, threads, iterations));
    imbrex::unpin_this_thread();
    for (const int c : counts) times[c].push_back(chares(program, n, threads, iterations, c));
    fmt::print(stderr, "\rround {} of {}", r + 1, rounds);
  }
  fmt::print(stderr, "\n");
  const double base = median(times[0]);
  nlohmann::json out{
      {"grid", {n, n, n}}, {"threads", threads}, {"iterations", iterations}, {"rounds", rounds}, {"bare_us", base}};
  fmt::print("jacobi3d {0}^3, {1} PEs, {2} iterations, median of {3}\n{4:>14} {5:>14} {6:>8}\n", n, threads, iterations,
             rounds, "chares", "us/iteration", "ratio");
  fmt::print("{:>14} {:>14.1f} {:>8.3f}\n", "bare threads", base, 1.0);
  for (const int c : counts) {
    const double t = median(times[c]);
    fmt::print("{:>14} {:>14.1f} {:>8.3f}\n", c, t, t / base);
    out["chares"].push_back({{"count", c}, {"us", t}, {"ratio", t / base}});
  }
  fmt::print("{}\n", out.dump());
  return 0;
}
