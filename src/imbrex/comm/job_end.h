#pragma once

#include <atomic>
#include <cstdint>

namespace imbrex {

/// How a rank wants the job to end and, once the ranks have agreed (`transport::stop`), how it ends on all of them.
struct job_end {
  bool failed = false;  ///< after an error that was reported
  int code = 0;         ///< the exit code

  bool operator==(const job_end&) const = default;

  /// As one word, for collectives.
  std::uint64_t word() const { return (std::uint64_t{failed} << 32) | static_cast<std::uint32_t>(code); }
  static job_end of_word(std::uint64_t w) {
    return {(w >> 32 & 1) != 0, static_cast<int>(static_cast<std::uint32_t>(w))};
  }
};

/// What two ranks agree on: a failure wins over an exit, and of equals that of the lower rank.
constexpr job_end agreed_end(const job_end& of_lower_rank, const job_end& of_higher_rank) {
  return of_higher_rank.failed && !of_lower_rank.failed ? of_higher_rank : of_lower_rank;
}

/// One rank's decision to end: made once, by whichever of its PEs is first, except that a failure takes the place of
/// an exit. Any thread.
class end_decision {
 public:
  /// Decides for `end`; false when nothing changes: it was decided before, and not for an exit that `end` overrules.
  bool decide(const job_end& end) noexcept {
    std::uint64_t now = word_.load(std::memory_order_acquire);
    do {
      if (now != none && (job_end::of_word(now).failed || !end.failed)) return false;
    } while (!word_.compare_exchange_weak(now, end.word(), std::memory_order_acq_rel, std::memory_order_acquire));
    return true;
  }
  /// As decided; without a decision an exit with code 0.
  job_end get() const noexcept {
    const std::uint64_t now = word_.load(std::memory_order_acquire);
    return now == none ? job_end{} : job_end::of_word(now);
  }

 private:
  static constexpr std::uint64_t none = ~std::uint64_t{0};
  std::atomic<std::uint64_t> word_{none};
};

}  // namespace imbrex
