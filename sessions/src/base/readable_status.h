// Statuses that can be read after a call, whether or not the program wants them.
#pragma once

#include <vector>

#include "base/services.h"

namespace imbrex::sessions::IX_MPI {

/// What the MPI is to be given in place of `given`: that, or a status of its own for MPI_STATUS_IGNORE.
class readable_status {
 public:
  readable_status() = default;
  explicit readable_status(MPI_Status* given) { use(given); }
  readable_status(const readable_status&) = delete;
  readable_status& operator=(const readable_status&) = delete;

  MPI_Status* use(MPI_Status* given) { return used_ = given == MPI_STATUS_IGNORE ? &own_ : given; }
  /// Null before the first use().
  MPI_Status* get() { return used_; }

 private:
  MPI_Status own_;
  MPI_Status* used_ = nullptr;
};

/// The same for `count` of them, or MPI_STATUSES_IGNORE.
class readable_statuses {
 public:
  readable_statuses(int count, MPI_Status* given)
      : own_(given == MPI_STATUSES_IGNORE && count > 0 ? static_cast<std::size_t>(count) : 0),
        used_(given == MPI_STATUSES_IGNORE ? own_.data() : given) {}
  readable_statuses(const readable_statuses&) = delete;
  readable_statuses& operator=(const readable_statuses&) = delete;

  MPI_Status* get() { return used_; }
  MPI_Status* at(int i) { return &used_[i]; }

 private:
  std::vector<MPI_Status> own_;
  MPI_Status* used_;
};

}  // namespace imbrex::sessions::IX_MPI
