#include "staging/staged_operation.h"

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

staged_operation::staged_operation(std::initializer_list<buffer> buffers) {
  bool in_place = false;
  for (const buffer& b : buffers) in_place = in_place || (!b.absent && b.address == MPI_IN_PLACE);
  for (const buffer& b : buffers) {
    buffers_[num_buffers_++] = staged_buffer(b, in_place);
    in_parts_ = in_parts_ || b.parts > 0;
  }
}

bool staged_operation::staged() const {
  for (int i = 0; i < num_buffers_; ++i) {
    if (buffers_[i].staged()) return true;
  }
  return false;
}

void staged_operation::begin() {
  set(phase::under_way);
  bool started = false;
  for (int i = 0; i < num_buffers_; ++i) started = buffers_[i].start_refresh() || started;
  if (started) finish_copies();
}

/// Another thread may have found the whole message complete.
void staged_operation::return_part(int part) {
  buffers_[0].return_part(part);
  wait_until_finished();
}

bool staged_operation::complete(MPI_Status* status) { return return_buffers(arrived_bytes(status)); }

bool staged_operation::complete_request(MPI_Status* status) {
  int cancelled = 0;
  const bool nothing = mpi.Test_cancelled(status, &cancelled) == MPI_SUCCESS && cancelled != 0;
  return return_buffers(nothing ? 0 : arrived_bytes(status));
}

bool staged_operation::return_buffers(std::size_t arrived) {
  phase expected = phase::under_way;
  if (!phase_.compare_exchange_strong(expected, phase::returning)) return false;
  for (int i = 0; i < num_buffers_; ++i) buffers_[i].start_return(arrived);
  return true;
}

}  // namespace imbrex::sessions::IX_MPI
