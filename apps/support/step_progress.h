#pragma once

#include <chrono>
#include <string>

namespace apps {

/// A progress line on stderr: only where that is a terminal, rewritten at most ten times a second, wiped at the end.
class step_progress {
 public:
  /// `shown` false makes all calls do nothing.
  step_progress(int num_steps, bool shown);
  ~step_progress() { finish(); }
  step_progress(const step_progress&) = delete;
  step_progress& operator=(const step_progress&) = delete;

  /// One more step is under way: `what`.
  void step(const std::string& what);
  /// Wipes the line. Later steps do nothing.
  void finish();

 private:
  using clock = std::chrono::steady_clock;
  const int num_steps_;
  bool shown_;
  bool drawn_ = false;
  int done_ = 0;
  const clock::time_point start_ = clock::now();
  clock::time_point next_ = start_;
};

}  // namespace apps
