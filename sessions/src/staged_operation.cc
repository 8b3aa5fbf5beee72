#include "staged_operation.h"

namespace imbrex::sessions::IX_MPI {

namespace {

/// How much a receive or a read got; all where the MPI cannot tell.
std::size_t arrived_bytes(MPI_Status* status) {
  constexpr std::size_t all = ~std::size_t{0};
  if (status == nullptr) return all;
  MPI_Count bytes = 0;
  const int result = mpi.Get_elements_x(status, mpi.byte, &bytes);
  return result == MPI_SUCCESS && bytes >= 0 ? static_cast<std::size_t>(bytes) : all;
}

}  // namespace

staged_operation::staged_operation(where w, std::initializer_list<buffer> buffers) {
  // A one-sided operation with MPI_PROC_NULL leaves all as it is.
  bool in_place = w.is_window && w.rank == MPI_PROC_NULL;
  for (const buffer& b : buffers) in_place = in_place || (!b.absent && b.address == MPI_IN_PLACE);
  for (const buffer& b : buffers) buffers_[num_buffers_++] = staged_buffer(b, in_place);
}

bool staged_operation::staged() const {
  for (int i = 0; i < num_buffers_; ++i) {
    if (buffers_[i].staged()) return true;
  }
  return false;
}

bool staged_operation::start_refreshes() {
  bool started = false;
  for (int i = 0; i < num_buffers_; ++i) started = buffers_[i].start_refresh() || started;
  return started;
}

void staged_operation::begin() {
  active_ = true;
  if (start_refreshes()) finish_copies();
}

copy_mark staged_operation::begin_copies() {
  active_ = true;
  start_refreshes();
  return mark_copies(buffers_[0].context());
}

void staged_operation::complete(MPI_Status* status) { return_buffers(arrived_bytes(status)); }

void staged_operation::complete_request(MPI_Status* status) {
  int cancelled = 0;
  const bool nothing = mpi.Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled != 0;
  return_buffers(nothing ? 0 : arrived_bytes(status));
}

void staged_operation::return_buffers(std::size_t arrived) {
  if (!active_) return;
  active_ = false;
  for (int i = 0; i < num_buffers_; ++i) buffers_[i].start_return(arrived);
}

}  // namespace imbrex::sessions::IX_MPI
