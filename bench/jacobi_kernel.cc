// The Jacobi kernel on bare threads against this machine's copy bandwidth, both with all cores, in one run.
//
//   bench_jacobi_kernel [--threads N] [--rounds N] [--benchmark_out=FILE]
//
// Everything is measured once in each round, so that all rows see the same mood of the machine; medians over the
// rounds. Copy bandwidth is the better of memcpy and of a copy by streaming stores, over arrays far larger than the
// last-level cache, counting 16 bytes for each double copied. The kernel counts 16 bytes for each cell updated.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bare_threads.h"
#include "field/aligned_array.h"
#include "kernels/kernel.h"
#include "spin_barrier.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace {

using namespace jacobi;

struct settings {
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  int rounds = 9;
  std::string json;
};

/// One row of the table: a name, the bytes it counts in one go, and its times.
struct measurement {
  std::string name;
  double bytes = 0;
  std::function<double()> run_us;
  std::vector<double> samples_us;

  double median_us() const {
    std::vector<double> sorted = samples_us;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
  double gb_per_second() const { return bytes / median_us() * 1e-3; }
};

using copy_function = void (*)(double*, const double*, std::int64_t);

void copy_memcpy(double* to, const double* from, std::int64_t size) {
  std::memcpy(to, from, static_cast<std::size_t>(size) * sizeof(double));
}

#if defined(__SSE2__)
void copy_streaming(double* to, const double* from, std::int64_t size) {
  for (std::int64_t i = 0; i < size; i += 8)
    for (std::int64_t j = i; j < i + 8; j += 2) _mm_stream_pd(to + j, _mm_load_pd(from + j));
  _mm_sfence();
}
#endif

/// Copies back and forth on pinned threads; microseconds for one copy of the whole array.
double time_copy(aligned_array& a, aligned_array& b, int num_threads, copy_function copy) {
  constexpr int passes = 6;
  spin_barrier barrier(num_threads);
  std::chrono::steady_clock::time_point begin, end;
  auto work = [&](int thread) {
    pin_to_core(thread);
    const std::int64_t lines = a.size() / 8;
    const std::int64_t first = lines * thread / num_threads * 8, last = lines * (thread + 1) / num_threads * 8;
    barrier.wait();
    if (thread == 0) begin = std::chrono::steady_clock::now();
    for (int pass = 0; pass < passes; ++pass) {
      double* to = (pass % 2 == 0 ? b : a).data();
      const double* from = (pass % 2 == 0 ? a : b).data();
      copy(to + first, from + first, last - first);
      barrier.wait();
    }
    if (thread == 0) end = std::chrono::steady_clock::now();
  };
  std::vector<std::thread> threads;
  threads.reserve(static_cast<std::size_t>(num_threads));
  for (int t = 0; t < num_threads; ++t) threads.emplace_back(work, t);
  for (std::thread& t : threads) t.join();
  return std::chrono::duration<double, std::micro>(end - begin).count() / passes;
}

void run_interleaved(std::vector<measurement>& rows, int rounds) {
  for (measurement& row : rows) row.run_us();  // warm up
  for (int round = 0; round < rounds; ++round)
    for (measurement& row : rows) row.samples_us.push_back(row.run_us());
}

bool is_copy(const measurement& row) { return row.name.starts_with("copy/"); }

double copy_bandwidth(const std::vector<measurement>& rows) {
  double best = 0;
  for (const measurement& row : rows)
    if (is_copy(row)) best = std::max(best, row.gb_per_second());
  return best;
}

void print(const std::vector<measurement>& rows, const settings& s) {
  const double copy = copy_bandwidth(rows);
  fmt::print("{} threads, {} rounds, instruction set {}, last-level cache {} MiB\n", s.threads, s.rounds,
             name(best_instruction_set()), last_level_cache_bytes() >> 20);
  fmt::print("{:<28} {:>12} {:>10} {:>10}\n", "", "median us", "GB/s", "of copy");
  for (const measurement& row : rows)
    fmt::print("{:<28} {:>12.1f} {:>10.2f} {:>10.3f}\n", row.name, row.median_us(), row.gb_per_second(),
               row.gb_per_second() / copy);
}

void write_json(const std::vector<measurement>& rows, const settings& s) {
  if (s.json.empty()) return;
  const double copy = copy_bandwidth(rows);
  nlohmann::json out;
  out["context"] = {{"executable", "bench_jacobi_kernel"}, {"num_threads", s.threads}, {"rounds", s.rounds}};
  for (const measurement& row : rows)
    out["benchmarks"].push_back({{"name", row.name},
                                 {"run_type", "aggregate"},
                                 {"aggregate_name", "median"},
                                 {"real_time", row.median_us()},
                                 {"time_unit", "us"},
                                 {"bytes_per_second", row.gb_per_second() * 1e9},
                                 {"of_copy_bandwidth", row.gb_per_second() / copy}});
  std::ofstream(s.json) << out.dump(2) << '\n';
}

settings read_settings(int argc, char** argv) {
  settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::string out = "--benchmark_out=";
    if (argument == "--threads" && i + 1 < argc) s.threads = std::atoi(argv[++i]);
    if (argument == "--rounds" && i + 1 < argc) s.rounds = std::atoi(argv[++i]);
    if (argument.starts_with(out)) s.json = argument.substr(out.size());
  }
  s.threads = std::max(s.threads, 1);
  s.rounds = std::max(s.rounds, 1);
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  const settings s = read_settings(argc, argv);
  const std::int64_t copied = std::int64_t{16} << 20;  // doubles: 128 MiB for each array
  aligned_array a(copied), b(copied);
  const double copy_bytes = 16.0 * static_cast<double>(copied);

  std::vector<measurement> rows;
  rows.push_back({"copy/memcpy", copy_bytes, [&] { return time_copy(a, b, s.threads, copy_memcpy); }, {}});
#if defined(__SSE2__)
  rows.push_back({"copy/streaming", copy_bytes, [&] { return time_copy(a, b, s.threads, copy_streaming); }, {}});
#endif
  std::vector<std::unique_ptr<bare_threads>> runs;
  for (std::int64_t n : {192, 256}) {
    const extents grid{n, n, n};
    for (store_policy policy : {store_policy::streaming, store_policy::cached}) {
      const bool streaming = policy == store_policy::streaming;
      runs.push_back(std::make_unique<bare_threads>(grid, 0.0, update_kernel({}, policy), s.threads));
      bare_threads* run = runs.back().get();
      run->field().row(n / 2, n / 2)[n / 2] = 1.0;
      rows.push_back({fmt::format("kernel/{}/{}", n, streaming ? "streaming" : "cached"),
                      16.0 * static_cast<double>(grid.cells()),
                      [run] { return run->run(8); },
                      {}});
    }
  }
  run_interleaved(rows, s.rounds);
  print(rows, s);
  write_json(rows, s);
  return 0;
}
