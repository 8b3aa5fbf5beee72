#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

/// METG, the smallest granularity of tasks at which a system still gets half of a machine's work done (Slaughter et
/// al., "Task Bench", SC'20), for three of its patterns of dependences. What the programs beside this header share.
namespace metg {

enum class pattern { stencil, fft, tree };
inline const char* name(pattern p) { return p == pattern::stencil ? "stencil" : p == pattern::fft ? "fft" : "tree"; }
inline constexpr pattern all_patterns[] = {pattern::stencil, pattern::fft, pattern::tree};

/// A graph: `width` points, each with a task in every step, which needs those of some points in the step before.
struct graph {
  pattern kind = pattern::stencil;
  int width = 0;  ///< a power of two
  int steps = 0;

  int stages() const {
    int s = 0;
    while ((1 << s) < width) ++s;
    return s;
  }
  /// The points whose tasks of step `step` - 1 the one of `point` in `step` needs, itself among them; calls f(point).
  template <class F>
  void each_input(int step, int point, F f) const {
    if (step == 0) return;
    if (kind == pattern::stencil) {
      for (int p = std::max(point - 1, 0); p <= std::min(point + 1, width - 1); ++p) f(p);
      return;
    }
    f(point);
    if (width == 1) return;
    const int stage = (step - 1) % stages(), distance = 1 << stage;
    if (kind == pattern::fft) f(point ^ distance);
    // Binary trees, one after the other, from the leaves to the root: every other of the points that are left.
    if (kind == pattern::tree && point % (2 * distance) == 0) f(point + distance);
  }
  /// Whose tasks of the step after need the one of `point` in `step`.
  template <class F>
  void each_output(int step, int point, F f) const {
    if (step + 1 >= steps) return;
    if (kind == pattern::stencil) {
      for (int p = std::max(point - 1, 0); p <= std::min(point + 1, width - 1); ++p) f(p);
      return;
    }
    f(point);
    if (width == 1) return;
    const int stage = step % stages(), distance = 1 << stage;
    if (kind == pattern::fft) f(point ^ distance);
    if (kind == pattern::tree && point % (2 * distance) == distance) f(point - distance);
  }
  int num_inputs(int step, int point) const {
    int n = 0;
    each_input(step, point, [&](int) { ++n; });
    return n;
  }
};

/// What a task does: so many rounds of 64 multiplications and additions, which nothing can leave out.
inline double work(std::int64_t rounds, double seed) {
  double v[64];
  for (int k = 0; k < 64; ++k) v[k] = seed + k;
  for (std::int64_t r = 0; r < rounds; ++r) {
    for (double& x : v) x = x * 0.999 + 0.001;
    asm volatile("" : : "r"(v) : "memory");
  }
  double sum = 0;
  for (const double x : v) sum += x;
  return sum;
}

inline double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}

/// Seconds of one round, on a core of its own.
inline double seconds_of_round() {
  constexpr std::int64_t rounds = 200'000;
  double least = 1e30;
  for (int i = 0; i < 5; ++i) {
    const auto t = std::chrono::steady_clock::now();
    if (work(rounds, i) < 0) std::abort();
    least = std::min(least, seconds_since(t) / rounds);
  }
  return least;
}

/// Goes from large tasks to small ones until less than half of the work gets done.
///
///     for (search s("chares", kind, width, cores, round); s.wants();) s.tell(<seconds of s.what() with s.rounds()>);
///
/// Prints a line for each size, and in the end the granularity, cores times time over tasks, where it is half.
class search {
 public:
  search(std::string system, pattern kind, int width, int cores, double round)
      : system_(std::move(system)), cores_(cores), round_(round), graph_{kind, width, 0} {
    size_up();
  }

  bool wants() const { return !is_over_; }
  const graph& what() const { return graph_; }
  std::int64_t rounds() const { return rounds_; }

  /// Of three times the least counts.
  void tell(double seconds) {
    least_ = std::min(least_, seconds);
    if (++times_ < 3) return;
    const double tasks = static_cast<double>(graph_.width) * graph_.steps, us = cores_ * least_ / tasks * 1e6;
    // What the machine can do with all its cores busy is what the largest tasks get: cores may share more than caches.
    const double rate = tasks * static_cast<double>(rounds_) / (cores_ * least_);
    best_ = std::max(best_, rate);
    const double efficiency = rate / best_;
    std::printf("  %-8s %-8s %6lld rounds: %9.3f us a task, efficiency %5.1f %%, %5.1f %% of a core alone\n",
                system_.c_str(), name(graph_.kind), static_cast<long long>(rounds_), us, 100 * efficiency,
                100 * rate * round_);
    if (efficiency < 0.5 || rounds_ == 1) return end(us, efficiency);
    before_ = efficiency;
    before_us_ = us;
    rounds_ /= 2;
    size_up();
  }

 private:
  void size_up() {
    const double task = static_cast<double>(rounds_) * round_;
    graph_.steps = static_cast<int>(std::clamp(0.1 * cores_ / (graph_.width * task), 60.0, 2000.0));
    times_ = 0;
    least_ = 1e30;
  }
  /// Between the last two by their logarithms.
  void end(double us, double efficiency) {
    is_over_ = true;
    const bool is_between = before_us_ > 0 && efficiency < 0.5;
    const double part = is_between ? (before_ - 0.5) / (before_ - efficiency) : 1;
    const double found = is_between ? std::exp(std::log(before_us_) + part * std::log(us / before_us_)) : us;
    std::printf("%s, %s, %d points on %d cores: METG(50 %%) %s%.2f us\n", system_.c_str(), name(graph_.kind),
                graph_.width, cores_, efficiency < 0.5 ? "" : "below ", found);
    std::fflush(stdout);
  }

  const std::string system_;
  const int cores_;
  const double round_;
  graph graph_;
  std::int64_t rounds_ = 1 << 14;
  int times_ = 0;
  double least_ = 0, best_ = 0, before_ = 1, before_us_ = 0;
  bool is_over_ = false;
};

/// As many points as cores times `each`, or the next power of two.
inline int width_of(int each, int cores) {
  int width = 1;
  while (width < each * cores) width *= 2;
  return width;
}

}  // namespace metg
