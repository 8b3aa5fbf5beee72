// One-sided operations until their window is synchronised, and split file accesses until their end.
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>
#include <utility>

#include "held_operations.h"

namespace imbrex::sessions::IX_MPI {

namespace {

struct one_sided {
  int rank;
  staged_pointer operation;
};

struct accesses {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::unordered_map<std::uintptr_t, std::vector<one_sided>> by_window;
  std::unordered_map<std::uintptr_t, staged_pointer> by_file;
};
accesses& all() {
  static auto* made = new accesses;
  return *made;
}
std::atomic<bool> any_one_sided{false};

class guard {
 public:
  guard() { pthread_mutex_lock(&all().lock); }
  ~guard() { pthread_mutex_unlock(&all().lock); }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
};

/// Takes out what the synchronisation completed.
std::vector<one_sided> take_synchronised(std::uintptr_t win, int rank) {
  const guard g;
  std::vector<one_sided> done;
  const auto found = all().by_window.find(win);
  if (found == all().by_window.end()) return done;
  std::vector<one_sided>& held = found->second;
  const auto first =
      std::partition(held.begin(), held.end(), [=](const one_sided& o) { return rank != any_rank && o.rank != rank; });
  done.assign(std::make_move_iterator(first), std::make_move_iterator(held.end()));
  held.erase(first, held.end());
  if (held.empty()) all().by_window.erase(found);
  return done;
}

}  // namespace

void hold_until_synchronised(where w, staged_pointer operation) {
  const guard g;
  all().by_window[w.handle].push_back({w.rank, std::move(operation)});
  any_one_sided.store(true, std::memory_order_release);
}

void synchronised(MPI_Win win, int rank) {
  if (!any_one_sided.load(std::memory_order_acquire)) return;
  const std::vector<one_sided> done = take_synchronised(value_of(win), rank);
  for (const one_sided& o : done) o.operation->complete(nullptr);
  if (!done.empty()) finish_copies();
}

void hold_until_end(std::uintptr_t file, staged_pointer operation) {
  const guard g;
  all().by_file[file] = std::move(operation);
}

staged_pointer take_split(MPI_File file) {
  const guard g;
  const auto found = all().by_file.find(value_of(file));
  if (found == all().by_file.end()) return nullptr;
  staged_pointer operation = std::move(found->second);
  all().by_file.erase(found);
  return operation;
}

}  // namespace imbrex::sessions::IX_MPI
