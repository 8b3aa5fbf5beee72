#include "staging/completed_operations.h"

namespace imbrex::sessions::IX_MPI {

/// First its own, so that threads never wait for each other.
void completed_operations::finish() {
  if (!own_.empty()) finish_copies();
  for (const staged_pointer& o : own_) o->finished();
  for (const staged_pointer& o : others_) o->wait_until_finished();
  own_.clear();
  others_.clear();
}

}  // namespace imbrex::sessions::IX_MPI
