// The operations that one call finds complete, until their buffers are the program's again.
#pragma once

#include <vector>

#include "staging/staged_operation.h"

namespace imbrex::sessions::IX_MPI {

/// At its end, or by finish(), all copies back are done, those too that another thread found out about first.
class completed_operations {
 public:
  completed_operations() = default;
  ~completed_operations() { finish(); }
  completed_operations(const completed_operations&) = delete;
  completed_operations& operator=(const completed_operations&) = delete;

  /// The MPI is done with it; `status` as in staged_operation. Starts to copy back.
  void add(const staged_pointer& operation, MPI_Status* status) { note(operation, operation->complete(status)); }
  void add_request(const staged_pointer& operation, MPI_Status* status) {
    note(operation, operation->complete_request(status));
  }

  void finish();

 private:
  void note(const staged_pointer& operation, bool is_own) { (is_own ? own_ : others_).push_back(operation); }

  std::vector<staged_pointer> own_, others_;
};

}  // namespace imbrex::sessions::IX_MPI
