#pragma once

#include <cstddef>
#include <cstdint>

#include "imbrex/async/work.h"
#include "imbrex/base/hash.h"
#include "imbrex/base/memory/prefetch.h"

namespace imbrex {

/// What is ready to run on one PE: one first-in-first-out list per priority level and a bitmap of the filled
/// ones. One thread. With a schedule seed, `pop` picks at random instead: a fuzzer of schedules.
class ready_queue {
 public:
  /// A seed other than 0 makes `pop` take random items among all that are ready, repeatably for a given
  /// sequence of pushes.
  bool has_schedule_seed() const { return shuffled_; }
  void set_schedule_seed(std::uint64_t seed) {
    random_ = random_sequence(seed);
    shuffled_ = seed != 0;
  }

  void push(work* item) {
    const unsigned level = static_cast<unsigned>(item->level - priority::most_urgent);
    list& l = lists_[level];
    item->next = nullptr;
    if (l.first == nullptr) {
      l.first = item;
      filled_ |= 1u << level;
    } else {
      l.last->next = item;
    }
    l.last = item;
  }

  /// Goes before all of its level.
  void push_front(work* item) {
    const unsigned level = static_cast<unsigned>(item->level - priority::most_urgent);
    list& l = lists_[level];
    item->next = l.first;
    if (l.first == nullptr) l.last = item;
    l.first = item;
    filled_ |= 1u << level;
  }

  /// The next item, or null.
  work* pop() {
    if (filled_ == 0) return nullptr;
    if (shuffled_) [[unlikely]]
      return pop_random();
    const auto level = static_cast<unsigned>(__builtin_ctz(filled_));
    if ((filled_ >> level) != 1 && ++passed_over_ == most_passed_over) [[unlikely]]
      return pop_passed_over(filled_ & (filled_ - 1));
    return pop_front(level);
  }

  /// Takes `item` out, wherever it stands; false when it is not there. Linear in the length of its level.
  bool remove(work* item) {
    const unsigned level = static_cast<unsigned>(item->level - priority::most_urgent);
    work* before = nullptr;
    for (work* w = lists_[level].first; w != nullptr; before = w, w = w->next) {
      if (w != item) continue;
      take_after(level, before);
      return true;
    }
    return false;
  }

  bool empty() const { return filled_ == 0; }
  /// How many are ready; counts them.
  std::size_t size() const {
    std::size_t n = 0;
    for (const list& l : lists_) {
      for (const work* w = l.first; w != nullptr; w = w->next) ++n;
    }
    return n;
  }

 private:
  struct list {
    work* first = nullptr;
    work* last = nullptr;
  };

  work* pop_front(unsigned level) {
    list& l = lists_[level];
    work* item = l.first;
    l.first = item->next;
    if (l.first == nullptr) {
      l.last = nullptr;
      filled_ &= ~(1u << level);
    } else {
      __builtin_prefetch(l.first);  // messages that came from elsewhere, or wait for long, are in no near cache
      __builtin_prefetch(next_line(l.first));
    }
    return item;
  }

  /// Of those levels, which wait for a more urgent one, each in turn.
  [[gnu::cold, gnu::noinline]] work* pop_passed_over(std::uint32_t levels) {
    passed_over_ = 0;
    const std::uint32_t behind_last = levels & ~((2u << last_passed_over_) - 1);
    last_passed_over_ = static_cast<unsigned>(__builtin_ctz(behind_last != 0 ? behind_last : levels));
    return pop_front(last_passed_over_);
  }

  work* pop_random() {
    if ((filled_ & 1) != 0) return pop_front(0);  // the runtime's own, in its order: arrays come to be
    std::uint64_t skip = random_.below(static_cast<std::uint64_t>(__builtin_popcount(filled_)));
    unsigned levels = filled_;
    while (skip-- > 0) levels &= levels - 1;
    const auto level = static_cast<unsigned>(__builtin_ctz(levels));
    list& l = lists_[level];
    std::uint64_t depth = random_.below(8);
    work* before = nullptr;
    work* item = l.first;
    for (; depth > 0 && item->next != nullptr; --depth) {
      before = item;
      item = item->next;
    }
    return take_after(level, before);
  }

  work* take_after(unsigned level, work* before) {
    if (before == nullptr) return pop_front(level);
    list& l = lists_[level];
    work* item = before->next;
    before->next = item->next;
    if (l.last == item) l.last = before;
    return item;
  }

  static constexpr std::uint32_t most_passed_over = 4096;

  list lists_[priority::num_levels];
  std::uint32_t filled_ = 0;
  std::uint32_t passed_over_ = 0;  // items that were taken while less urgent ones waited, since one of those was
  unsigned last_passed_over_ = 0;  // its level
  bool shuffled_ = false;
  random_sequence random_{0};
};

}  // namespace imbrex
