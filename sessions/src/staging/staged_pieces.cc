#include "staging/staged_pieces.h"

#include <algorithm>

#include "driver/driver_queries.h"
#include "driver/staging_memory.h"
#include "routines/thread_state.h"

namespace imbrex::sessions::IX_MPI {

namespace {

class cutter {
 public:
  cutter(const char* base, const device_context* owner) : base_(base), owner_(owner) {}

  void cut(data_run r) {
    while (r.pieces > 0) {
      const std::size_t room = room_at(r.offset);
      if (room >= r.span()) return pieces_.push_back(r);
      room < r.bytes ? cut_first(r, room) : take_fitting(r, room);
    }
  }
  std::vector<data_run>& found() { return pieces_; }

 private:
  /// How many bytes of the allocation there are from here.
  std::size_t room_at(std::int64_t offset) {
    const auto address = reinterpret_cast<std::uint64_t>(base_) + static_cast<std::uint64_t>(offset);
    if (address < known_.start || address >= known_.end) enter(base_ + offset);
    return known_.end - address;
  }

  void enter(const char* address) {
    if (place_of(address) != place::device) refuse_both_memories(base_, address);
    if (context_of(address) != owner_) {
      give_up(
          "%s: a buffer lies in memory of several devices or contexts (at %p and %p); stage does not cover such types: "
          "send the parts apart",
          name_of(here.routine), static_cast<const void*>(base_), static_cast<const void*>(address));
    }
    known_ = range_of(address);
  }

  /// Those of the pieces that lie in the allocation as wholes.
  void take_fitting(data_run& r, std::size_t room) {
    const std::size_t n = (room - r.bytes) / static_cast<std::size_t>(r.stride) + 1;
    pieces_.push_back({r.offset, r.bytes, n, n == 1 ? 0 : r.stride});
    drop_first(r, n);
  }

  void cut_first(data_run& r, std::size_t room) {
    pieces_.push_back({r.offset, room, 1, 0});
    cut({r.offset + static_cast<std::int64_t>(room), r.bytes - room, 1, 0});
    drop_first(r, 1);
  }

  static void drop_first(data_run& r, std::size_t n) {
    r.offset += static_cast<std::int64_t>(n) * r.stride;
    r.pieces -= n;
    if (r.pieces <= 1) r.stride = 0;
  }

  const char* base_;
  const device_context* owner_;
  memory_range known_{1, 0};
  std::vector<data_run> pieces_;
};

}  // namespace

std::vector<data_run> pieces_on_device(const char* base, const data_runs& runs, const device_context* owner) {
  cutter all(base, owner);
  for (const data_run& r : runs.all()) all.cut(r);
  return std::move(all.found());
}

void refuse_device_within(const char* base, const data_runs& runs) {
  for (const data_run& r : runs.all()) {
    const char* first = base + r.offset;
    const char* last = first + (r.span() - 1);
    for (const char* address : {first, last}) {
      if (place_of(address) == place::device) refuse_both_memories(base + runs.all().front().offset, address);
    }
  }
}

void refuse_both_memories(const void* one, const void* other) {
  give_up(
      "%s: a buffer lies partly in device and partly in host memory (at %p and %p); stage does not cover such types: "
      "send "
      "the parts apart",
      name_of(here.routine), one, other);
}

}  // namespace imbrex::sessions::IX_MPI
