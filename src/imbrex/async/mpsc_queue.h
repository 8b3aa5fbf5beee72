#pragma once

#include <atomic>

#include "imbrex/async/work.h"
#include "imbrex/base/memory/prefetch.h"
#include "imbrex/base/memory/thread_place.h"

namespace imbrex {

/// The inbox of a PE: any thread pushes, one thread takes everything at once. One compare-and-swap per push,
/// one exchange per batch, no lock, no allocation. The consumer can leave a mark in the empty inbox that it
/// goes to sleep; the push that finds the mark reports it, and exactly one push does.
/// Order: items of one pushing thread are taken in the order they were pushed.
class mpsc_queue {
 public:
  /// Any thread, some time before `push`: gets the cache line.
  void prepare_push() const { prefetch_for_write(&head_); }

  /// Any thread. True when the consumer had declared itself asleep: the caller must wake it.
  [[nodiscard]] bool push(work* item) {
    // A look before would cost another transfer of the line from the consumer, which watches it when it is idle. So who
    // has found nothing the last times, as in a conversation, guesses.
    work* head = num_found_empty_ > 1 ? nullptr : head_.load(std::memory_order_relaxed);
    do {
      item->next = head == asleep() ? nullptr : head;
    } while (!head_.compare_exchange_weak(head, item, std::memory_order_acq_rel, std::memory_order_relaxed));
    num_found_empty_ = head == nullptr ? num_found_empty_ + 1 : 0;
    return head == asleep();
  }

  /// Consumer only: whether there is something to take. One relaxed load.
  bool empty() const {
    const work* head = head_.load(std::memory_order_relaxed);
    return head == nullptr || head == asleep();
  }

  /// Any thread: whether nothing is in it; if so, the caller sees what the consumer did before it took the last.
  bool was_empty() const {
    const work* head = head_.load(std::memory_order_seq_cst);
    return head == nullptr || head == asleep();
  }

  /// Consumer only: takes all, oldest first, linked by `next`; null when there is nothing.
  work* take_all() {
    const work* seen = head_.load(std::memory_order_relaxed);
    __builtin_prefetch(seen);  // at the same time as the line of the head
    __builtin_prefetch(next_line(seen));
    // Released, too: who finds the inbox empty by this sees what the consumer did before.
    work* newest = head_.exchange(nullptr, std::memory_order_acq_rel);
    if (newest == asleep()) return nullptr;
    work* oldest = nullptr;
    while (newest != nullptr) {
      work* older = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = older;
    }
    return oldest;
  }

  /// Consumer only: marks the inbox; false when it was not empty (then do not sleep).
  bool declare_asleep() {
    work* expected = nullptr;
    return head_.compare_exchange_strong(expected, asleep(), std::memory_order_acq_rel, std::memory_order_relaxed);
  }

  /// Consumer only: takes the mark back if it is still there.
  void declare_awake() {
    work* expected = asleep();
    head_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel, std::memory_order_relaxed);
  }

 private:
  static work* asleep() { return &asleep_mark_; }
  inline static work asleep_mark_;
  inline IMBREX_THREAD_LOCAL unsigned num_found_empty_ = 0;

  alignas(64) std::atomic<work*> head_{nullptr};
};

}  // namespace imbrex
