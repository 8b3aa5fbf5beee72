#include "staging/held_accesses.h"

#include <utility>

namespace imbrex::sessions::IX_MPI {

namespace {

struct accesses {
  held_table<held_access> by_window;
  held_table<staged_pointer> by_file;
};
accesses& all_accesses() {
  static auto* made = new accesses;  // outlives the last MPI call
  return *made;
}

}  // namespace

void hold_until_synchronised(where w, staged_pointer operation) {
  all_accesses().by_window.put(w.handle, {w.rank, std::move(operation)});
}

void leave_window(std::uintptr_t window, const staged_pointer& operation) {
  if (window != 0)
    all_accesses().by_window.drop(window, [&](const held_access& h) { return h.operation == operation; });
}

synchronised_accesses::synchronised_accesses(MPI_Win win, int rank)
    : window_(value_of(win)), seen_(all_accesses().by_window.see(window_, [=](const held_access& h) {
        return rank == any_rank || h.rank == rank;
      })) {}

void synchronised_accesses::complete() {
  if (seen_.empty()) return;
  completed_operations done;
  for (const held_access& h : seen_) done.add(h.operation, nullptr);
  done.finish();
  all_accesses().by_window.drop(window_, [](const held_access& h) { return !h.operation->active(); });
}

accesses_of_freed::accesses_of_freed(MPI_Win win) {
  held_table<held_access>::taken_entry taken;
  while (!(taken = all_accesses().by_window.take(value_of(win))).empty()) taken_.push_back(std::move(taken));
}

void accesses_of_freed::put_back() {
  for (auto& taken : taken_) all_accesses().by_window.put_back(std::move(taken));
  taken_.clear();
}

void hold_until_end(std::uintptr_t file, staged_pointer operation) {
  all_accesses().by_file.put(file, std::move(operation));
}

staged_pointer take_split(MPI_File file) {
  held_table<staged_pointer>::taken_entry taken = all_accesses().by_file.take(value_of(file));
  return taken.empty() ? nullptr : std::move(taken.mapped());
}

}  // namespace imbrex::sessions::IX_MPI
