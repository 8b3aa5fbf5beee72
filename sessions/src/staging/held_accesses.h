// One-sided operations until their window is synchronised, and split file accesses until their end.
#pragma once

#include "base/held_table.h"
#include "staging/completed_operations.h"

namespace imbrex::sessions::IX_MPI {

struct held_access {
  int rank;  ///< whose part of the window it goes to
  staged_pointer operation;
};

/// Of a one-sided operation to `w.rank` in `w.handle`.
void hold_until_synchronised(where w, staged_pointer operation);
/// Its request is complete, and so is it. 0 for what belongs to no window.
void leave_window(std::uintptr_t window, const staged_pointer& operation);

constexpr int any_rank = -1000000;

/// What a synchronisation of a window with `rank`, or with all (any_rank), is about to complete. Other threads may
/// synchronise the same operations, and begin others meanwhile.
class synchronised_accesses {
 public:
  synchronised_accesses(MPI_Win win, int rank);

  /// The MPI has done it: copies back, and waits for that.
  void complete();

 private:
  std::uintptr_t window_;
  std::vector<held_access> seen_;
};

/// Those left in a window that is about to be freed. What is left then was never synchronised, and ends with it.
class accesses_of_freed {
 public:
  explicit accesses_of_freed(MPI_Win win);
  /// The window was not freed.
  void put_back();

 private:
  std::vector<held_table<held_access>::taken_entry> taken_;
};

/// Of a split file access, of which a file has one at most.
void hold_until_end(std::uintptr_t file, staged_pointer operation);
staged_pointer take_split(MPI_File file);

}  // namespace imbrex::sessions::IX_MPI
