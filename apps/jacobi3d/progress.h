#pragma once

#include <chrono>
#include <cstdint>

namespace jacobi {

/// A progress line on stderr: only where that is a terminal, rewritten at most ten times a second, wiped at the end.
/// `update` costs one clock read; one thread at a time.
class progress {
 public:
  /// `shown` false makes all calls do nothing (other ranks, --quiet).
  progress(std::int64_t total_iterations, bool shown);
  ~progress() { finish(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

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

}  // namespace jacobi
