#include "staged_buffer.h"

#include <algorithm>

#include "driver_queries.h"
#include "settings.h"
#include "thread_state.h"

namespace imbrex::sessions::IX_MPI {

span span_of(MPI_Count count, MPI_Datatype type) {
  span s;
  if (count <= 0) return s;
  MPI_Aint begin = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_extent = 0;
  int size = 0;
  mpi.Type_get_extent(type, &begin, &extent);
  mpi.Type_get_true_extent(type, &s.begin, &true_extent);
  mpi.Type_size(type, &size);
  if (extent < 0) give_up("%s: stage does not cover types of negative extent", name_of(here.routine));
  s.bytes = static_cast<std::size_t>((count - 1) * extent + true_extent);
  s.dense = size == true_extent && (size == extent || count == 1);
  return s;
}

MPI_Count reach_of(const int* counts, const int* displacements, int num_blocks) {
  MPI_Count reach = 0;
  for (int i = 0; i < num_blocks; ++i) {
    if (displacements[i] < 0) give_up("%s: stage does not cover negative displacements", name_of(here.routine));
    reach = std::max(reach, MPI_Count{displacements[i]} + counts[i]);
  }
  return reach;
}

staged_buffer::staged_buffer(const void* address, MPI_Count count, MPI_Datatype type, bool sent)
    : address_(const_cast<void*>(address)) {
  if (address == nullptr || address == MPI_IN_PLACE || count <= 0 || place_of(address) != place::device) return;
  span_ = span_of(count, type);
  pinned_ = take_pinned(span_.bytes);
  if (sent || !span_.dense) start_refresh();
}

staged_buffer& staged_buffer::operator=(staged_buffer&& other) noexcept {
  give_pinned(pinned_);
  address_ = other.address_;
  span_ = other.span_;
  pinned_ = other.pinned_;
  other.pinned_ = {};
  return *this;
}

void staged_buffer::start_refresh() {
  if (staged()) start_copy_to_host(pinned_.data, static_cast<char*>(address_) + span_.begin, span_.bytes);
}

void staged_buffer::start_return(std::size_t bytes) {
  if (!staged()) return;
  const std::size_t returned = span_.dense ? std::min(bytes, span_.bytes) : span_.bytes;
  start_copy_to_device(static_cast<char*>(address_) + span_.begin, pinned_.data, returned);
}

}  // namespace imbrex::sessions::IX_MPI
