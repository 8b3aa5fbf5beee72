#pragma once

#include <cstdint>
#include <optional>

/// When iterations end, the same for every implementation, so that they all do the same number of them.
///
/// Timed iterations count from 1; warm-up iterations do not count. Iteration k is a *check* if k is a multiple of
/// `check_every`: the sum of the squared changes of all cells is formed while or after it is computed, and reduced
/// while the following iterations run. The reduced norm of check k is *consumed* just before iteration k + check_every
/// starts: if it is below the tolerance, that iteration is the last one. So a run that converges at check k stops after
/// completing k + check_every iterations, or at the limit. A check whose norm could never be consumed is not made:
/// neither near the limit nor in an iteration that is known to be the last.
namespace jacobi {

class stopping_rule {
 public:
  /// Without a tolerance nothing is ever checked and all `limit` iterations are done.
  stopping_rule(std::optional<double> tolerance, std::int64_t check_every, std::int64_t limit)
      : tolerance_(tolerance), every_(check_every), limit_(limit) {}

  std::int64_t limit() const { return limit_; }

  /// Whether the change made by iteration k is to be summed up.
  bool is_check(std::int64_t k) const { return tolerance_ && k % every_ == 0 && k + every_ <= limit_; }

  /// The check whose norm is to be consumed just before iteration k starts, if any.
  std::optional<std::int64_t> consumed_before(std::int64_t k) const {
    if (!tolerance_ || k % every_ != 0 || k <= every_ || k > limit_) return std::nullopt;
    return k - every_;
  }

  /// Whether the iteration that is about to start is the last one, given the norm consumed before it.
  bool met(double norm) const { return tolerance_ && norm < *tolerance_; }

 private:
  std::optional<double> tolerance_;
  std::int64_t every_;
  std::int64_t limit_;
};

}  // namespace jacobi
