#pragma once

#include <atomic>
#include <cstdint>

#include <fmt/format.h>

#include "imbrex/base/ids.h"
#include "imbrex/base/log.h"

namespace imbrex {

/// Says once in the log that messages pile up on a rank faster than they leave: nothing holds back who sends, so they
/// take memory until there is none. Any thread.
class flood_watch {
 public:
  /// So many that wait are no burst any more.
  static constexpr std::uint64_t most = std::uint64_t{1} << 18;

  explicit flood_watch(const char* network) : network_(network) {}
  /// `waiting` messages have not left, of which the last, for rank `to`, takes so many bytes.
  void look(std::uint64_t waiting, rank_id to, std::uint64_t bytes) {
    if (waiting < most || warned_.exchange(true)) [[likely]]
      return;
    log_warning(fmt::format(
        "{} messages to other ranks have not left by {} (the last, for rank {}, has {} bytes): they are sent faster "
        "than "
        "they are taken, and wait in memory. Await replies or a reduction now and then, or send fewer and larger ones",
        waiting, network_, to, bytes));
  }
  bool has_warned() const { return warned_; }

 private:
  const char* network_;
  std::atomic<bool> warned_{false};
};

}  // namespace imbrex
