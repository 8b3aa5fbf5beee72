// What PEs and ranks cost as they become more: time until the main chare runs, an array everywhere, a broadcast with a
// reduction, quiescence, the end; and memory.
//
//   bench_pe_scale                                                # the table: 16 to 1024 PEs as threads, by one
//                                                                 # thread, as ranks
//   bench_pe_scale --once --imbrex-pes=64 --imbrex-single-thread  # a line of it
//
// The table starts one process for each line. Times are wall times of that process; with more PEs than cores they are
// those of a machine that is oversubscribed, which is what a test on a laptop sees, not what a cluster does: compare
// lines of one kind. Memory is the process's (VmHWM), by PE.
#include <fmt/format.h>
#include <imbrex/base/clock.h>
#include <imbrex/imbrex.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace ix = imbrex;

namespace {

double milliseconds_since(std::int64_t start) { return static_cast<double>(ix::now_ns() - start) / 1e6; }

/// Of this process, from /proc: "VmHWM" is the most it had, in MiB.
double memory_mib(const std::string& which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(which + ":", 0) == 0) return std::stod(line.substr(which.size() + 1)) / 1024;
  }
  return 0;
}

struct cell : ix::chare<cell, ix::index1d> {
  void tell() { contribute(1, ix::sum); }
};

std::int64_t began_ns = 0;  // of the process
double ended_ms = 0;

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

ix::task<int> once(ix::runtime& rt, std::vector<std::string>) {
  constexpr int repeats = 9;
  const double started = milliseconds_since(began_ns);
  std::int64_t at = ix::now_ns();
  auto all = rt.create_group<cell>();
  auto first = all.reduction<int>();
  all.broadcast<&cell::tell>();
  co_await first;
  const double created = milliseconds_since(at);
  std::vector<double> reductions, quiet;
  for (int i = 0; i < repeats; ++i) {
    at = ix::now_ns();
    auto sum = all.reduction<int>();
    all.broadcast<&cell::tell>();
    if (co_await sum != rt.num_pes()) co_return 1;
    reductions.push_back(milliseconds_since(at));
    at = ix::now_ns();
    auto none = rt.quiescence();
    co_await none;
    quiet.push_back(milliseconds_since(at));
  }
  fmt::print("{:>5} {:>6} {:>9.2f} {:>9.2f} {:>9.3f} {:>9.3f} ", rt.num_ranks(), rt.num_pes(), started, created,
             median(reductions), median(quiet));
  std::fflush(stdout);
  ended_ms = milliseconds_since(began_ns);
  co_return 0;
}

int run_once(int argc, char** argv) {
  began_ns = ix::now_ns();
  const int code = ix::run(argc, argv, once);
  const double ended = milliseconds_since(began_ns) - ended_ms;
  fmt::print("{:>9.2f} {:>8.1f}\n", ended, memory_mib("VmHWM"));
  return code;
}

/// One line of the table, by a process of its own.
void line(const char* program, const std::vector<std::string>& options) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    std::vector<std::string> words{program, "--once", "--imbrex-pin=off"};
    words.insert(words.end(), options.begin(), options.end());
    std::vector<char*> pointers;
    pointers.reserve(words.size() + 1);
    for (std::string& w : words) pointers.push_back(w.data());
    pointers.push_back(nullptr);
    execv("/proc/self/exe", pointers.data());
    std::_Exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) fmt::print("failed\n");
}

void table(const char* program) {
  const auto head = [](const char* what) {
    fmt::print("\n{}\n{:>5} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}\n", what, "ranks", "PEs", "start", "create",
               "reduce", "quiet", "end", "MiB");
    fmt::print("{:>5} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>8}\n", "", "", "ms", "ms", "ms", "ms", "ms", "");
  };
  head("PEs as threads of one rank");
  for (const int n : {16, 64, 256, 1024}) line(program, {fmt::format("--imbrex-pes={}", n)});
  head("PEs of one rank, run by one thread");
  for (const int n : {16, 64, 256, 1024}) line(program, {fmt::format("--imbrex-pes={}", n), "--imbrex-single-thread"});
  head("ranks of one PE, by the loopback transport, in one process");
  for (const int n : {16, 64, 256, 1024})
    line(program, {"--imbrex-pes=1", "--imbrex-transport=loopback", fmt::format("--imbrex-ranks={}", n)});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "--once") == 0) return run_once(argc, argv);
  if (argc > 1) {
    fmt::print("{} [--once OPTIONS]: the table, or one line of it with these options of the runtime\n", argv[0]);
    return std::strcmp(argv[1], "--help") == 0 ? 0 : 2;
  }
  table(argv[0]);
  return 0;
}
