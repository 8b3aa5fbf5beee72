#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace imbrex {

/// What happens at a moment of virtual time. Belongs to whoever had it put down, and stays until it has happened.
struct timed_event {
  void (*happen)(timed_event&) = nullptr;
};

/// What is to happen, the earliest first; at the same moment in the order in which it was put down. A heap of four
/// branches, which touches half the cache lines of one of two.
class event_list {
 public:
  struct entry {
    std::int64_t at;
    std::uint64_t turn;
    timed_event* what;
    bool before(const entry& other) const { return at != other.at ? at < other.at : turn < other.turn; }
  };

  bool empty() const { return heap_.empty(); }
  std::size_t size() const { return heap_.size(); }
  const entry& first() const { return heap_.front(); }

  void put(std::int64_t at, timed_event& e) {
    heap_.push_back({at, next_turn_++, &e});
    rise(heap_.size() - 1);
  }

  entry take() {
    const entry result = heap_.front();
    const entry last = heap_.back();
    heap_.pop_back();
    if (!heap_.empty()) sink(last);
    return result;
  }

 private:
  static constexpr std::size_t branches = 4;

  void rise(std::size_t i) {
    const entry e = heap_[i];
    while (i > 0) {
      const std::size_t above = (i - 1) / branches;
      if (!e.before(heap_[above])) break;
      heap_[i] = heap_[above];
      i = above;
    }
    heap_[i] = e;
  }

  void sink(const entry& e) {
    const std::size_t n = heap_.size();
    std::size_t i = 0;
    while (true) {
      const std::size_t first = i * branches + 1;
      if (first >= n) break;
      std::size_t least = first;
      const std::size_t end = first + branches < n ? first + branches : n;
      for (std::size_t k = first + 1; k < end; ++k) {
        if (heap_[k].before(heap_[least])) least = k;
      }
      if (!heap_[least].before(e)) break;
      heap_[i] = heap_[least];
      i = least;
    }
    heap_[i] = e;
  }

  std::vector<entry> heap_;
  std::uint64_t next_turn_ = 0;
};

}  // namespace imbrex
