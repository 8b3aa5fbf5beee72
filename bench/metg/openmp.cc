// METG of OpenMP's tasks with dependences, beside chares.cc:
//   OMP_NUM_THREADS=2 OMP_PROC_BIND=true build/default/bin/bench_metg_openmp [points a thread, 4]
#include <omp.h>

#include <string>
#include <vector>

#include "metg/metg.h"

namespace {

double seconds_of(const metg::graph& g, std::int64_t rounds) {
  // Two rows in turns: a task reads one and writes the other.
  std::vector<double> rows[2] = {std::vector<double>(static_cast<std::size_t>(g.width), 1.0),
                                 std::vector<double>(static_cast<std::size_t>(g.width), 1.0)};
  const auto began = std::chrono::steady_clock::now();
#pragma omp parallel
#pragma omp single
  for (int step = 0; step < g.steps; ++step) {
    double* const from = rows[step % 2].data();
    double* const to = rows[(step + 1) % 2].data();
    for (int p = 0; p < g.width; ++p) {
      int inputs[3], num = 0;
      g.each_input(step, p, [&](int i) { inputs[num++] = i; });
      for (; num < 3; ++num) inputs[num] = p;
      const int a = inputs[0], b = inputs[1], c = inputs[2];
#pragma omp task depend(in : from[a], from[b], from[c]) depend(out : to[p]) firstprivate(from, to, p, a, b, c, rounds)
      to[p] = metg::work(rounds, 1.0) + from[a] + from[b] + from[c] > 0 ? 1.0 : 0.0;
    }
  }
  return metg::seconds_since(began);
}

}  // namespace

int main(int argc, char** argv) {
  const int cores = omp_get_max_threads(), width = metg::width_of(argc > 1 ? std::stoi(argv[1]) : 4, cores);
  const double round = metg::seconds_of_round();
  for (const metg::pattern kind : metg::all_patterns) {
    for (metg::search s("OpenMP", kind, width, cores, round); s.wants();) s.tell(seconds_of(s.what(), s.rounds()));
  }
}
