#pragma once

#include <cstddef>

namespace imbrex::detail {

/// While one lives, a signal that ends the process (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT) on the thread of a PE
/// says on standard error whose code ran there: `imbrex: error: SIGSEGV in block::run of block(3,0) on PE 1 (rank 0)`.
/// Then whoever had the signal before has it. And a process that ends by `exit` while a job runs says so, and ends with
/// exit code 70 in place of 0: what the job was to do has not been done. One at a time.
class crash_reports {
 public:
  crash_reports();
  ~crash_reports();
  crash_reports(const crash_reports&) = delete;
  crash_reports& operator=(const crash_reports&) = delete;
};

/// A stack for such a signal on the calling thread, whose own may be full; unless it has one already.
class signal_stack {
 public:
  signal_stack();
  ~signal_stack();
  signal_stack(const signal_stack&) = delete;
  signal_stack& operator=(const signal_stack&) = delete;

 private:
  static constexpr std::size_t bytes = 64 << 10;
  void* memory_ = nullptr;
};

}  // namespace imbrex::detail
