#include "node_progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace uts {

node_progress::node_progress(std::int64_t expected_nodes, bool shown)
    : expected_(expected_nodes), shown_(shown && isatty(STDERR_FILENO) != 0) {}

void node_progress::look(std::int64_t nodes) {
  next_nodes_ = nodes + (1 << 16);
  const clock::time_point now = clock::now();
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  draw(nodes, std::chrono::duration<double>(now - start_).count());
}

void node_progress::draw(std::int64_t nodes, double elapsed) {
  if (expected_ > 0) {
    const double share = std::min(1.0, static_cast<double>(nodes) / static_cast<double>(expected_));
    constexpr int width = 30;
    const int filled = static_cast<int>(share * width);
    fmt::print(stderr, "\r[{:#<{}}{:.<{}}] {:3.0f} %", "", filled, "", width - filled, 100 * share);
  } else {
    fmt::print(stderr, "\r");
  }
  fmt::print(stderr, "  about {:.1f} million nodes  {:.1f} s\033[K", static_cast<double>(nodes) * 1e-6, elapsed);
  std::fflush(stderr);
  drawn_ = true;
}

void node_progress::finish() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
  if (drawn_) std::fflush(stderr);
  drawn_ = false;
  shown_ = false;
}

}  // namespace uts
