#pragma once

#include <string>
#include <vector>

namespace apps {

/// Files that are removed when SIGINT, SIGTERM or SIGHUP ends the process while this lives; of signals that somebody
/// else has taken, or that are ignored, it leaves the care to them. One at a time in a process; others do nothing.
class removed_by_signal {
 public:
  explicit removed_by_signal(const std::vector<std::string>& paths);
  ~removed_by_signal();
  removed_by_signal(const removed_by_signal&) = delete;
  removed_by_signal& operator=(const removed_by_signal&) = delete;

 private:
  bool is_first_ = false;
};

}  // namespace apps
