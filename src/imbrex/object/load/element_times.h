#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "imbrex/async/actor.h"
#include "imbrex/object/collection/element.h"

namespace imbrex {

/// How long the code of each element has run on a PE, by the PE's clock: its methods, and what its streams run on the
/// PE's own thread. For the PE's thread.
class element_times final : public actor_observer {
 public:
  /// `num_left`: of so many that have left, or ended, the times that were longest are kept for `describe`.
  explicit element_times(executor& pe, std::size_t num_left = 0) : pe_(pe), num_left_(num_left) { watch(pe); }
  ~element_times() override { unwatch(pe_); }

  void run_changes(const actor* from, const actor* to, std::int64_t now) override {
    if (from != nullptr) add(from, now);
    since_ = now;
    static_cast<void>(to);
  }
  void has_left(const actor& a) override;

  /// Nanoseconds; of an element that has never run here, or has left, 0.
  std::int64_t of(const element_base& e) const;
  /// What each has run since this was called last; of those that are still here.
  std::unordered_map<const actor*, std::int64_t> take() { return std::exchange(times_, {}); }
  /// Of all, those that have left among them.
  std::int64_t total_ns() const { return total_ns_; }
  /// A line about all and the `most` that ran longest: "12.3 ms in elements: block(0, 1) 3.1 ms, ...".
  std::string describe(std::size_t most) const;

 private:
  void add(const actor* a, std::int64_t now) {
    times_[a] += now - since_;
    total_ns_ += now - since_;
  }
  executor& pe_;
  void keep_the_longest_left();

  std::unordered_map<const actor*, std::int64_t> times_;
  std::unordered_map<std::string, std::int64_t> left_;  // by name: some come again, and leave again
  std::size_t num_left_;
  std::int64_t since_ = 0;
  std::int64_t total_ns_ = 0;
};

}  // namespace imbrex
