#pragma once

#include <chrono>
#include <cstdint>

namespace apps {

/// A progress line on stderr: only where that is a terminal, rewritten at most ten times a second, wiped at the end.
/// `update` costs one clock read; one thread at a time.
class iteration_progress {
 public:
  /// `shown` false makes all calls do nothing (other ranks, --quiet).
  iteration_progress(std::int64_t total_iterations, bool shown);
  ~iteration_progress() { finish(); }
  iteration_progress(const iteration_progress&) = delete;
  iteration_progress& operator=(const iteration_progress&) = delete;

  /// So many iterations, warm-up and all repeats counted, are done.
  void update(std::int64_t done);

  /// Wipes the line. Later updates do nothing.
  void finish();

 private:
  using clock = std::chrono::steady_clock;
  std::int64_t total_;
  bool shown_;
  bool drawn_ = false;
  clock::time_point start_ = clock::now();
  clock::time_point next_ = start_;
};

}  // namespace apps
