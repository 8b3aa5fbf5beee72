#include "support/step_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace apps {

step_progress::step_progress(int num_steps, bool shown)
    : num_steps_(std::max(num_steps, 1)), shown_(shown && isatty(STDERR_FILENO) != 0) {}

void step_progress::step(const std::string& what) {
  const int before = done_++;
  if (!shown_) return;
  const clock::time_point now = clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  constexpr int width = 30;
  const int filled = std::min(width, before * width / num_steps_);
  fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {:3} %  {}  {:.1f} s\033[K", "", filled, "", width - filled,
             std::min(100, before * 100 / num_steps_), what, std::chrono::duration<double>(now - start_).count());
  std::fflush(stderr);
  drawn_ = true;
}

void step_progress::finish() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  if (drawn_) std::fflush(stderr);
  drawn_ = false;
  shown_ = false;
}

}  // namespace apps
