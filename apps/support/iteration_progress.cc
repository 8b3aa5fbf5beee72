#include "support/iteration_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace apps {

iteration_progress::iteration_progress(std::int64_t total_iterations, bool shown)
    : total_(std::max<std::int64_t>(total_iterations, 1)), shown_(shown && isatty(STDERR_FILENO) != 0) {}

void iteration_progress::update(std::int64_t done) {
  if (!shown_) return;
  const clock::time_point now = clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const double share = static_cast<double>(std::min(done, total_)) / static_cast<double>(total_);
  constexpr int width = 30;
  const int filled = static_cast<int>(share * width);
  fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {:3.0f} %  iteration {} of {}  {:.1f} s\033[K", "", filled, "", width - filled,
             100 * share, done, total_, elapsed);
  std::fflush(stderr);
  drawn_ = true;
}

void iteration_progress::finish() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  if (drawn_) std::fflush(stderr);
  drawn_ = false;
  shown_ = false;
}

}  // namespace apps
