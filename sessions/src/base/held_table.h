// Operations under way, by the handle through which the MPI completes them.
//
// The MPI gives out the handle of a completed request again, to any thread, perhaps while the call that completed it
// has not yet returned. So whoever is about to call the MPI to complete or free a handle takes its entry first, and
// puts it back afterwards if it goes on. Windows outlive the completion of their operations, of which several threads
// may learn at once: entries are seen before the call, and those dropped after it that are done.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex_scope.h"

namespace imbrex::sessions {

template <class Entry>
class held_table {
  using entries = std::unordered_multimap<std::uintptr_t, Entry>;

 public:
  /// An entry on its way: key() and mapped(), or nothing.
  using taken_entry = typename entries::node_type;

  /// Whether there is nothing; without a lock.
  bool empty() const { return num_.load(std::memory_order_acquire) == 0; }

  void put(std::uintptr_t handle, Entry entry) {
    const mutex_scope guard(lock_);
    entries_.emplace(handle, std::move(entry));
    note_size();
  }

  /// One of the entries of a handle.
  taken_entry take(std::uintptr_t handle) {
    if (empty()) return {};
    const mutex_scope guard(lock_);
    const auto found = entries_.find(handle);
    if (found == entries_.end()) return {};
    taken_entry taken = entries_.extract(found);
    note_size();
    return taken;
  }

  void put_back(taken_entry entry) {
    const mutex_scope guard(lock_);
    entries_.insert(std::move(entry));
    note_size();
  }

  /// Copies of those of a handle that are `wanted`, which stay.
  template <class Wanted>
  std::vector<Entry> see(std::uintptr_t handle, Wanted wanted) {
    std::vector<Entry> seen;
    if (empty()) return seen;
    const mutex_scope guard(lock_);
    const auto [first, last] = entries_.equal_range(handle);
    for (auto i = first; i != last; ++i) {
      if (wanted(i->second)) seen.push_back(i->second);
    }
    return seen;
  }

  template <class Done>
  void drop(std::uintptr_t handle, Done done) {
    if (empty()) return;
    const mutex_scope guard(lock_);
    const auto [first, last] = entries_.equal_range(handle);
    for (auto i = first; i != last;) i = done(i->second) ? entries_.erase(i) : std::next(i);
    note_size();
  }

 private:
  void note_size() { num_.store(entries_.size(), std::memory_order_release); }

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  entries entries_;
  std::atomic<std::size_t> num_{0};
};

}  // namespace imbrex::sessions
