// What a window of tasks saves on several GPUs: Jacobi's method on a ring of stripes, each an object with two edges,
// by tasks that are submitted one by one; by a window whose tasks name their devices; and by one whose tasks do not, so
// that it is planned. In turns; with one device the window is a graph of that.
//
//   bench_task_windows --help
//   bench_task_windows --n 2048 --stripes 4 --imbrex-device=cuda --imbrex-gpus=4 --imbrex-pes=4
//
// Prints medians of microseconds a step, on how many devices each ran, and whether all have the same bits; JSON on the
// last line. Exit code 1 when they differ.
#include <imbrex/clock.h>
#include <imbrex/imbrex.h>

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "task_windows.hk"

namespace ix = imbrex;

namespace {

struct settings {
  int n = 2048;
  int stripes = 4;
  int steps = 200;
  int rounds = 7;
  int window = 2;
};

/// A stripe before or after a step: its cells, and its first and last row.
struct stripe {
  ix::hetero_object<double> cells, first, last;
};

class ring {
 public:
  ring(const settings& s, int num_devices) : s_(s), rows_(s.n / s.stripes), num_devices_(num_devices) {
    const auto nx = static_cast<std::size_t>(s.n);
    for (auto* all : {&now_, &next_}) {
      for (int i = 0; i < s.stripes; ++i) {
        all->push_back({ix::hetero_object<double>(nx * static_cast<std::size_t>(rows_)), ix::hetero_object<double>(nx),
                        ix::hetero_object<double>(nx)});
      }
    }
    for (int i = 0; i < s.stripes; ++i) {
      const stripe& to = now_[static_cast<std::size_t>(i)];
      ix::submit({.name = "fill"}, &fill, i, rows_, s.n, write(to.cells), write(to.first), write(to.last));
    }
  }

  /// `named`: each stripe's tasks are for its device.
  void step(bool named) {
    const auto n = static_cast<std::size_t>(s_.stripes);
    for (std::size_t i = 0; i < n; ++i) {
      const stripe &here = now_[i], &below = now_[(i + n - 1) % n], &above = now_[(i + 1) % n], &to = next_[i];
      ix::task_options o{.name = "sweep"};
      if (named) {
        o.on = ix::device_kind::cuda;
        o.number = static_cast<int>(i) * num_devices_ / s_.stripes;
      }
      ix::submit(o, stripe_sweep, ix::launch_shape::over_grid(nx(), static_cast<std::size_t>(rows_)), s_.n, rows_,
                 here.cells, below.last, above.first, write(to.cells), write(to.first), write(to.last));
    }
    std::swap(now_, next_);
  }
  /// An even number: then it ends where it has begun.
  ix::task_window window(int num_steps, bool named) {
    return ix::record([&] {
      for (int i = 0; i < num_steps; ++i) step(named);
    });
  }

  ix::task<std::uint64_t> hash() {
    std::uint64_t h = 14695981039346656037ULL;
    for (const stripe& s : now_) {
      auto access = s.cells.host(ix::access_mode::read);
      const auto view = co_await access;
      for (const double& v : view) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &v, sizeof bits);
        h = (h ^ bits) * 1099511628211ULL;
      }
    }
    co_return h;
  }

 private:
  static void fill(int i, int rows, int n, double* cells, double* first, double* last) {
    for (int y = 0; y < rows; ++y) {
      for (int x = 0; x < n; ++x) cells[y * n + x] = ((i * rows + y) * 31 + x * 17) % 101;
    }
    std::copy_n(cells, n, first);
    std::copy_n(cells + (rows - 1) * n, n, last);
  }
  std::size_t nx() const { return static_cast<std::size_t>(s_.n); }

  const settings s_;
  const int rows_, num_devices_;
  std::vector<stripe> now_, next_;
};

/// A way to do steps, and what came of it.
struct way {
  std::string name;
  ring cells;
  bool named = true;
  ix::task_window window{};
  std::vector<double> us{};

  ix::task<> run(int steps, int steps_of_window) {
    for (int i = 0; i < steps; i += steps_of_window) {
      if (window.num_tasks() > 0) {
        window.replay();
      } else {
        for (int k = 0; k < steps_of_window; ++k) cells.step(named);
        co_await ix::fewer_tasks_than(1000);
      }
    }
    co_await ix::all_tasks();
  }
};

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

ix::task<int> start(ix::runtime&, std::vector<std::string> words) {
  settings s;
  CLI::App app("windows of tasks on several GPUs", "bench_task_windows");
  app.add_option("--n", s.n, "cells along an edge of the grid")->capture_default_str();
  app.add_option("--stripes", s.stripes, "stripes, each an object")->capture_default_str();
  app.add_option("--steps", s.steps, "steps of a measurement, a multiple of --window")->capture_default_str();
  app.add_option("--window", s.window, "steps of a window, an even number")->capture_default_str();
  app.add_option("--rounds", s.rounds, "measurements of each")->capture_default_str();
  std::ranges::reverse(words);
  try {
    app.parse(words);
  } catch (const CLI::ParseError& e) {
    co_return app.exit(e);
  }
  if (s.stripes < 1 || s.n % s.stripes != 0 || s.window < 2 || s.window % 2 != 0 || s.steps < s.window ||
      s.steps % s.window != 0 || s.rounds < 1) {
    fmt::print(
        stderr,
        "bench_task_windows: --n {} is a multiple of --stripes {}, --steps {} one of --window {}, which is even, and "
        "--rounds {} at least 1\n",
        s.n, s.stripes, s.steps, s.window, s.rounds);
    co_return 2;
  }
  int num_devices = 0;
  for (const auto& p : ix::hetero_domain::current().places()) num_devices += p->kind() == ix::device_kind::cuda;
  if (num_devices == 0) {
    fmt::print(stderr, "bench_task_windows: there is no GPU: say --imbrex-device=cuda, or --imbrex-machine\n");
    co_return 2;
  }
  std::vector<way> ways;
  ways.push_back({"one by one", ring(s, num_devices)});
  ways.push_back({"window, named", ring(s, num_devices)});
  ways.push_back({"window, planned", ring(s, num_devices), false});
  for (std::size_t i = 1; i < ways.size(); ++i) ways[i].window = ways[i].cells.window(s.window, ways[i].named);
  for (int round = 0; round <= s.rounds; ++round) {
    for (way& w : ways) {
      const auto began = ix::clock::now();
      co_await w.run(s.steps, s.window);
      const std::chrono::duration<double, std::micro> took = ix::clock::now() - began;
      if (round > 0) w.us.push_back(took.count() / s.steps);
    }
  }
  nlohmann::json report{
      {"n", s.n}, {"stripes", s.stripes}, {"devices", num_devices}, {"steps", s.steps}, {"window", s.window}};
  std::vector<std::uint64_t> hashes;
  for (way& w : ways) {
    hashes.push_back(co_await w.cells.hash());
    fmt::print("{:<16} {:9.2f} us a step; devices as a whole {}, a graph {}\n", w.name, median(w.us),
               w.window.num_devices(), w.window.was_graph());
    report["us"][w.name] = w.us;
  }
  const bool same = std::ranges::all_of(hashes, [&](std::uint64_t h) { return h == hashes[0]; });
  fmt::print("{}\n{}\n", same ? "the same bits" : "DIFFERENT BITS", report.dump());
  co_return same ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) { return ix::run(argc, argv, &start); }
