#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace imbrex_test {

/// All ways through a program that asks which of several things happens next: run it again and again, each time after
/// `next()` has said that there is another way. The program must ask the same questions after the same answers. Ways
/// that come to a state in which another way has been are not told apart from there on.
class all_orders {
 public:
  /// Before each run; false when all ways have been gone, or `limit` of them.
  bool next(std::uint64_t limit) {
    if (num_runs_ > 0) {
      while (!path_.empty() && path_.back().taken + 1 == path_.back().of) path_.pop_back();
      if (path_.empty() || num_runs_ >= limit) return false;
      ++path_.back().taken;
    }
    ++num_runs_;
    at_ = 0;
    known_ = false;
    return true;
  }
  /// One of `n`, which is not 0; `state` stands for all that the future depends on.
  std::size_t choose(std::size_t n, std::uint64_t state) {
    if (n == 1) return 0;
    if (at_ == path_.size()) {
      known_ = known_ || !seen_.insert(state).second;
      if (known_) return 0;
      path_.push_back({0, n});
    }
    return path_[at_++].taken;
  }
  std::uint64_t num_runs() const { return num_runs_; }
  /// Whether the last `next` said no because of the limit.
  bool cut_short() const { return !path_.empty(); }
  std::uint64_t num_states() const { return seen_.size(); }

 private:
  struct turning {
    std::size_t taken, of;
  };
  std::vector<turning> path_;
  std::unordered_set<std::uint64_t> seen_;
  bool known_ = false;  // this run has come to where another was
  std::size_t at_ = 0;
  std::uint64_t num_runs_ = 0;
};

}  // namespace imbrex_test
