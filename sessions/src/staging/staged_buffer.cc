#include "staging/staged_buffer.h"

#include <algorithm>
#include <utility>

#include "base/settings.h"
#include "driver/driver_queries.h"
#include "routines/thread_state.h"
#include "staging/staged_pieces.h"

namespace imbrex::sessions::IX_MPI {

namespace {

/// How far apart the allocations may lie that one buffer reaches into, unless it is nearly all data: so large is the
/// stand-in.
constexpr std::size_t max_scattered = std::size_t{1} << 30;

/// The address may lie outside of the buffer (MPI_BOTTOM, types with displacements): its ends tell where it is.
bool is_on_device(const char* first, std::size_t bytes) {
  const char* last = first + (bytes - 1);
  if (place_of(first) == place::device) return true;
  if (place_of(last) == place::device) refuse_both_memories(first, last);
  return false;
}

bool is_in_one_allocation(const char* first, std::size_t bytes) {
  const memory_range range = range_of(first);
  const char* last = first + (bytes - 1);
  const bool has_end = range.end != memory_range{}.end;
  if (!has_end && place_of(last) != place::device) refuse_both_memories(first, last);
  return reinterpret_cast<std::uint64_t>(last) < range.end;
}

/// Whether a copy of all, gaps too, takes less time than copies of the pieces: each costs as much as some bytes do.
bool is_cheaper_whole(std::size_t bytes, const std::vector<data_run>& pieces) {
  constexpr std::size_t bytes_per_copy = 1 << 16;
  constexpr std::size_t bytes_per_row = 1 << 8;
  std::size_t cost = 0;
  for (const data_run& r : pieces) cost += bytes_per_copy + r.pieces * (r.bytes + bytes_per_row);
  return bytes <= cost;
}

std::size_t data_bytes(const std::vector<data_run>& pieces) {
  std::size_t sum = 0;
  for (const data_run& r : pieces) sum += r.bytes * r.pieces;
  return sum;
}

/// The first `bytes` of pieces without gaps: single ones, in order.
std::vector<data_run> beginning_of(std::vector<data_run> pieces, std::size_t bytes) {
  for (data_run& r : pieces) r.bytes = std::min(r.bytes, bytes - std::min(bytes, static_cast<std::size_t>(r.offset)));
  std::erase_if(pieces, [](const data_run& r) { return r.bytes == 0; });
  return pieces;
}

}  // namespace

staged_buffer::staged_buffer(const buffer& b, bool in_place) {
  if (b.absent || b.address == MPI_IN_PLACE) return;
  const span s = span_of(b);
  char* address = static_cast<char*>(const_cast<void*>(b.address));
  char* first = address + s.begin;
  if (s.bytes == 0) return;
  if (!is_on_device(first, s.bytes)) {
    if (address == MPI_BOTTOM && !s.dense) refuse_device_within(address, runs_of(b));
    return;
  }
  device_ = first;
  begin_ = s.begin;
  bytes_ = s.bytes;
  const bool in_one = is_in_one_allocation(device_, bytes_);
  find_pieces(b, s, in_one);
  const bool kept =
      in_place || b.filled == buffer::filling::in_part || (b.filled == buffer::filling::by_status && !s.in_order);
  refreshed_ = (b.sent && b.parts == 0) || kept;
  returned_ = b.received;
  by_status_ = b.filled == buffer::filling::by_status && !refreshed_;
  pinned_ = take_pinned(bytes_, context_of(first));
  copies_are_synchronous_ = in_one && copies_are_synchronous(device_);
  if (b.parts > 0) find_parts(b, in_one);
}

void staged_buffer::find_parts(const buffer& b, bool in_one) {
  buffer one = b;
  one.count = b.count / b.parts;
  const data_runs runs = runs_of(one);
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  mpi.Type_get_extent(b.type, &lower, &extent);
  std::vector<std::vector<data_run>> all;
  for (int i = 0; i < b.parts; ++i) {
    data_runs part;
    part.add_repeated(runs, i * one.count * extent - begin_, 1, 0);
    all.push_back(in_one ? part.all() : pieces_on_device(device_, part, context_of(device_)));
  }
  parts_ = std::make_unique<buffer_parts>(std::move(all));
}

void staged_buffer::find_pieces(const buffer& b, const span& s, bool in_one) {
  if (s.dense && in_one) return;
  data_runs from_first;
  from_first.add_repeated(runs_of(b), -begin_, 1, 0);
  if (in_one) {
    pieces_ = from_first.all();
  } else {
    pieces_ = pieces_on_device(device_, from_first, context_of(device_));
  }
  copied_whole_ = in_one && is_cheaper_whole(bytes_, pieces_);
  if (in_one || bytes_ <= max_scattered || bytes_ / 2 <= data_bytes(pieces_)) return;
  give_up(
      "%s: a buffer reaches over %zu B of device memory (from %p) in several allocations, and stage covers at most %zu "
      "B of such types: send the parts apart",
      name_of(here.routine), bytes_, static_cast<void*>(device_), max_scattered);
}

staged_buffer& staged_buffer::operator=(staged_buffer&& other) noexcept {
  if (this == &other) return *this;
  give_pinned(pinned_);
  device_ = other.device_;
  begin_ = other.begin_;
  bytes_ = other.bytes_;
  pieces_ = std::move(other.pieces_);
  copied_whole_ = other.copied_whole_;
  copies_are_synchronous_ = other.copies_are_synchronous_;
  refreshed_ = other.refreshed_;
  returned_ = other.returned_;
  by_status_ = other.by_status_;
  parts_ = std::move(other.parts_);
  pinned_ = other.pinned_;
  other.pinned_ = {};
  return *this;
}

bool staged_buffer::start_refresh() {
  if (!staged()) return false;
  if (parts_ != nullptr) parts_->begin();
  if (!copies_are_synchronous_) wait_for_default_streams(pinned_.context);
  if (!refreshed_) return false;
  if (copied_whole_) {
    start_copy_to_host(pinned_, device_, bytes_);
  } else {
    start_copies_to_host(pinned_, device_, pieces_);
  }
  return true;
}

void staged_buffer::start_return(std::size_t arrived) {
  if (!staged() || !returned_) return;
  if (parts_ != nullptr && parts_->any_taken()) return start_return_of_parts();
  const std::size_t filled = by_status_ ? std::min(arrived, bytes_) : bytes_;
  if (!pieces_.empty()) {
    start_copies_to_device(device_, pinned_, by_status_ ? beginning_of(pieces_, filled) : pieces_);
  } else if (filled > 0) {
    start_copy_to_device(device_, pinned_, filled);
  }
}

void staged_buffer::refresh_part(int part) {
  if (!parts_->has(part)) return;
  if (!copies_are_synchronous_) wait_for_default_streams(pinned_.context);
  start_copies_to_host(pinned_, device_, parts_->data_of(part));
  finish_copies();
}

void staged_buffer::return_part(int part) {
  if (!parts_->has(part) || !parts_->take(part)) return;
  start_copies_to_device(device_, pinned_, parts_->data_of(part));
  finish_copies();
  parts_->give(part);
}

/// Those that were returned before may be the program's again to write to.
void staged_buffer::start_return_of_parts() {
  for (int i = 0; i < parts_->size(); ++i) {
    if (!parts_->take(i)) continue;
    start_copies_to_device(device_, pinned_, parts_->data_of(i));
    parts_->give(i);
  }
}

}  // namespace imbrex::sessions::IX_MPI
