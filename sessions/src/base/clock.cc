#include "base/clock.h"

#include <ctime>

namespace imbrex::sessions {

namespace {

struct moment {
  std::uint64_t ticks = ticks_now();
  double seconds = seconds_now();
};

const moment loaded;

}  // namespace

double ns_per_tick() {
  while (seconds_now() - loaded.seconds < 1e-3) {
  }
  const moment now;
  return (now.seconds - loaded.seconds) * 1e9 / static_cast<double>(now.ticks - loaded.ticks);
}

double seconds_now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

}  // namespace imbrex::sessions
