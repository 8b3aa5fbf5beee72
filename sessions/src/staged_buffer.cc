#include "staged_buffer.h"

#include <algorithm>

#include "driver_queries.h"
#include "settings.h"
#include "thread_state.h"

namespace imbrex::sessions::IX_MPI {

namespace {

/// The address may lie outside of the buffer (MPI_BOTTOM, types with displacements): its ends tell where it is.
bool is_on_device(const char* first, std::size_t bytes) {
  const bool begins = place_of(first) == place::device;
  const char* last = first + (bytes - 1);
  if (begins != (place_of(last) == place::device)) {
    give_up(
        "%s: a buffer lies partly in device and partly in host memory (from %p to %p); stage does not cover such "
        "types: send the parts apart",
        name_of(here.routine), static_cast<const void*>(first), static_cast<const void*>(last));
  }
  return begins;
}

}  // namespace

staged_buffer::staged_buffer(const buffer& b, bool in_place) {
  if (b.absent || b.address == MPI_IN_PLACE) return;
  const span s = span_of(b);
  char* first = static_cast<char*>(const_cast<void*>(b.address)) + s.begin;
  if (s.bytes == 0 || !is_on_device(first, s.bytes)) return;
  device_ = first;
  begin_ = s.begin;
  bytes_ = s.bytes;
  const bool kept = in_place || b.filled == buffer::filling::in_part || !s.dense ||
                    (b.filled == buffer::filling::by_status && !s.in_order);
  refreshed_ = b.sent || kept;
  returned_ = b.received;
  by_status_ = b.filled == buffer::filling::by_status && !refreshed_;
  pinned_ = take_pinned(bytes_, context_of(first));
}

staged_buffer& staged_buffer::operator=(staged_buffer&& other) noexcept {
  if (this == &other) return *this;
  give_pinned(pinned_);
  device_ = other.device_;
  begin_ = other.begin_;
  bytes_ = other.bytes_;
  refreshed_ = other.refreshed_;
  returned_ = other.returned_;
  by_status_ = other.by_status_;
  pinned_ = other.pinned_;
  other.pinned_ = {};
  return *this;
}

bool staged_buffer::start_refresh() {
  if (!staged() || !refreshed_) return false;
  start_copy_to_host(pinned_, device_, bytes_);
  return true;
}

void staged_buffer::start_return(std::size_t arrived) {
  if (!staged() || !returned_) return;
  const std::size_t filled = by_status_ ? std::min(arrived, bytes_) : bytes_;
  if (filled > 0) start_copy_to_device(device_, pinned_, filled);
}

}  // namespace imbrex::sessions::IX_MPI
