// What the runtime and overdecomposition cost on a CPU: jacobi3d with 1 to 16 chares for each PE, its MPI twin (one
// block for each rank) and bare threads with the same kernel (apps/jacobi3d/bare_threads.h), in turns.
//
//   bench_jacobi_overdecomposition --help
//   bench_jacobi_overdecomposition -n 512 --threads 64 --odf 1 2 4 8 16 --mpirun "mpirun --bind-to core -n"
//
// Prints the median time of an iteration of each, its ratio to bare threads, and the median of the ratios to the bare
// threads of the same round (a machine's mood changes between rounds); JSON on the last line. The jacobi3d beside this
// program is run for the chares and for the twin, which is left out where no --mpirun is given.
#include <fmt/format.h>
#include <imbrex/base/topology.h>

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "bare_threads.h"
#include "field/initial_state.h"

namespace {

struct settings {
  std::int64_t extent = 192;
  std::int64_t iterations = 50;
  int rounds = 5;
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  std::vector<int> odf{1, 2, 4, 8, 16};
  std::string mpirun;
  std::string program;
};

// What is compared: its name and how it is run.
struct contestant {
  std::string name;
  std::string command;  // without the grid; empty: bare threads
  std::vector<double> us;
};

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

double bare(const settings& s) {
  const std::int64_t n = s.extent;
  const jacobi::extents grid{n, n, n};
  const auto bytes = static_cast<std::uint64_t>(2 * 8 * grid.cells());
  const jacobi::update_kernel kernel({}, jacobi::choose_store_policy(bytes));
  jacobi::bare_threads b(grid, 0.0, kernel, s.threads);
  jacobi::set_initial_state(b.field(), grid, {0, 0, 0, grid}, {}, {});
  b.run(5);
  const double us = b.run(s.iterations);
  imbrex::unpin_this_thread();
  return us;
}

double run_program(const settings& s, const std::string& words) {
  const std::string report =
      (std::filesystem::temp_directory_path() / fmt::format("imbrex_bench_{}.json", getpid())).string();
  const std::string command = fmt::format("{} --device host -x {} -w 5 -i {} --repeats 1 --quiet --report {}", words,
                                          s.extent, s.iterations, report);
  if (std::system(command.c_str()) != 0) {
    fmt::print(stderr, "bench_jacobi_overdecomposition: this failed: {}\n", command);
    std::exit(1);
  }
  std::ifstream in(report);
  const auto json = nlohmann::json::parse(in);
  std::filesystem::remove(report);
  return json.at("time_per_iteration_us").at("median").get<double>();
}

std::vector<contestant> contestants(const settings& s) {
  std::vector<contestant> all{{"bare threads", "", {}}};
  if (!s.mpirun.empty())
    all.push_back({"MPI twin", fmt::format("{} {} {} --impl mpi", s.mpirun, s.threads, s.program), {}});
  for (const int odf : s.odf)
    all.push_back({fmt::format("ODF {}", odf), fmt::format("{} --pes {} --odf {}", s.program, s.threads, odf), {}});
  return all;
}

void report(const settings& s, const std::vector<contestant>& all) {
  nlohmann::json out{{"grid", s.extent}, {"threads", s.threads}, {"iterations", s.iterations}, {"rounds", s.rounds}};
  fmt::print(
      "jacobi3d {0}^3, {1} threads, PEs or ranks, {2} iterations, median of {3}\n{4:>14} {5:>14} {6:>8} {7:>18}\n",
      s.extent, s.threads, s.iterations, s.rounds, "", "us/iteration", "ratio", "ratio in a round");
  const std::vector<double>& base = all.front().us;
  for (const contestant& c : all) {
    std::vector<double> ratios;
    for (std::size_t r = 0; r < base.size(); ++r) ratios.push_back(c.us[r] / base[r]);
    const double us = median(c.us), ratio = us / median(base);
    fmt::print("{:>14} {:>14.1f} {:>8.3f} {:>18.3f}\n", c.name, us, ratio, median(ratios));
    out["of"].push_back(
        {{"name", c.name}, {"us", us}, {"ratio", ratio}, {"ratio_in_a_round", median(ratios)}, {"each_us", c.us}});
  }
  fmt::print("{}\n", out.dump());
}

}  // namespace

int main(int argc, char** argv) {
  settings s;
  s.program = (std::filesystem::path(argv[0]).parent_path() / "jacobi3d").string();
  CLI::App app("what the runtime and overdecomposition cost on a CPU");
  app.add_option("-n,--extent", s.extent, "cells along each side")->check(CLI::Range(2, 4096))->capture_default_str();
  app.add_option("-i,--iterations", s.iterations)->check(CLI::Range(1, 1'000'000))->capture_default_str();
  app.add_option("--rounds", s.rounds)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option("--threads", s.threads, "threads, PEs and ranks")->check(CLI::Range(1, 4096))->capture_default_str();
  app.add_option("--odf", s.odf, "chares for each PE")->check(CLI::Range(1, 4096))->capture_default_str();
  app.add_option("--mpirun", s.mpirun, "what starts the MPI twin; the number of ranks follows");
  CLI11_PARSE(app, argc, argv);
  std::vector<contestant> all = contestants(s);
  for (int r = 0; r < s.rounds; ++r) {
    for (contestant& c : all) {
      fmt::print(stderr, "\rround {} of {}: {:<14}", r + 1, s.rounds, c.name);
      c.us.push_back(c.command.empty() ? bare(s) : run_program(s, c.command));
    }
  }
  fmt::print(stderr, "\n");
  report(s, all);
  return 0;
}
