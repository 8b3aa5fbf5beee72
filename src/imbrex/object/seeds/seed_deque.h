#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>

#include "imbrex/object/seeds/seed_work.h"

namespace imbrex {

/// The seeds of a PE. It takes the newest; others of the process get the oldest, some at a time, which the PE has put
/// where they can take them all by one exchange. So the PE's own part needs no atomic operation, and nobody waits.
/// All but `is_offering` and `take_offer` are for the PE's thread.
class seed_deque {
 public:
  static constexpr std::size_t largest_offer = 32;

  bool empty() const { return newest_ == oldest_; }
  std::size_t size() const { return newest_ - oldest_; }
  void push(seed_work* s) {
    if (size() == capacity_) [[unlikely]]
      grow();
    slots_[newest_++ & (capacity_ - 1)] = s;
  }
  seed_work* pop_newest() { return slots_[--newest_ & (capacity_ - 1)]; }
  seed_work* pop_oldest() { return slots_[oldest_++ & (capacity_ - 1)]; }
  /// The oldest half, rounded up, but at most `most`, as a chain; there is one.
  seed_work* split_off(std::size_t most) {
    std::size_t left = std::min((size() + 1) / 2, most);
    seed_work* const first = pop_oldest();
    seed_work* last = first;
    while (--left > 0) {
      seed_work* const s = pop_oldest();
      last->next = s;
      last = s;
    }
    last->next = nullptr;
    return first;
  }

  /// \name What others may take
  ///@{
  /// Any thread; may be old news.
  bool is_offering() const { return offered_.load(std::memory_order_relaxed) != nullptr; }
  /// Nothing is offered: some are, from now on.
  void offer() { offered_.store(split_off(largest_offer), std::memory_order_release); }
  /// Any thread: a chain; null: there is none.
  seed_work* take_offer() { return is_offering() ? offered_.exchange(nullptr, std::memory_order_acquire) : nullptr; }
  ///@}

 private:
  void grow() {
    const std::size_t larger = capacity_ == 0 ? 64 : 2 * capacity_;
    auto fresh = std::make_unique<seed_work*[]>(larger);
    for (std::size_t i = oldest_; i != newest_; ++i) fresh[i & (larger - 1)] = slots_[i & (capacity_ - 1)];
    slots_ = std::move(fresh);
    capacity_ = larger;
  }

  std::unique_ptr<seed_work*[]> slots_;
  std::size_t capacity_ = 0;  // 0 or a power of two
  std::size_t oldest_ = 0;    // both count on and on
  std::size_t newest_ = 0;
  alignas(64) std::atomic<seed_work*> offered_{nullptr};
};

}  // namespace imbrex
