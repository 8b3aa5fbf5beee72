#include "driver/staging_memory.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>

#include "base/staging_counts.h"
#include "driver/device_context.h"
#include "driver/driver_watch.h"

namespace imbrex::sessions {

namespace {

constexpr unsigned non_blocking_stream = 1;
constexpr std::uintptr_t legacy_stream = 1, stream_per_thread = 2;

/// The streams of one thread in one context.
struct lane {
  device_context* context = nullptr;
  void* to_host = nullptr;
  void* to_device = nullptr;
  bool reads = false, writes = false;  ///< copies were started since it was last waited for
};

/// Lanes of threads that ended, for those that come.
struct left_lanes {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  std::vector<lane> all;
};
left_lanes& left() {
  static auto* made = new left_lanes;
  return *made;
}

/// Those of this thread. MPI calls may still come from destructors after the thread's objects are gone.
thread_local std::vector<lane>* lanes = nullptr;

struct lanes_keeper {
  bool in_use = false;
  ~lanes_keeper() {
    if (lanes == nullptr) return;
    const mutex_scope guard(left().lock);
    for (const lane& l : *lanes) left().all.push_back(l);
    delete lanes;
    lanes = nullptr;
  }
};
thread_local lanes_keeper keeper;

std::vector<lane>& lanes_here() {
  if (lanes == nullptr) {
    keeper.in_use = true;
    lanes = new std::vector<lane>;
  }
  return *lanes;
}

bool take_left_lane(const device_context* context, lane& taken) {
  const mutex_scope guard(left().lock);
  for (lane& l : left().all) {
    if (l.context != context) continue;
    taken = l;
    l = left().all.back();
    left().all.pop_back();
    return true;
  }
  return false;
}

lane make_lane(device_context* context) {
  static auto* const create = needed_of_driver<int(void**, unsigned)>("cuStreamCreate");
  lane made;
  made.context = context;
  const context_scope current(context);
  expect_success(create(&made.to_host, non_blocking_stream), "cuStreamCreate");
  expect_success(create(&made.to_device, non_blocking_stream), "cuStreamCreate");
  return made;
}

lane& lane_in(device_context* context) {
  for (lane& l : lanes_here()) {
    if (l.context == context) return l;
  }
  lane l;
  if (!take_left_lane(context, l)) l = make_lane(context);
  lanes_here().push_back(l);
  return lanes_here().back();
}

template <class Copy>
void in_pieces(std::size_t bytes, Copy copy) {
  const std::size_t piece = current_settings().chunk_bytes;
  for (std::size_t done = 0; done < bytes; done += piece) copy(done, std::min(piece, bytes - done));
  staged_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

/// The driver looks at the pointer of that type of memory.
memcpy_2d::side side_in(unsigned memory_type, const char* memory, std::size_t pitch) {
  return {0, 0, memory_type, memory, reinterpret_cast<std::uint64_t>(memory), nullptr, pitch};
}

using copy_to_host = int(void*, std::uint64_t, std::size_t, void*);
using copy_to_device = int(std::uint64_t, const void*, std::size_t, void*);

void copy_to_host_in(void* stream, char* to, const char* from, std::size_t bytes) {
  static copy_to_host* const copy = needed_of_driver<copy_to_host>("cuMemcpyDtoHAsync_v2");
  in_pieces(bytes, [&](std::size_t at, std::size_t n) {
    expect_success(copy(to + at, reinterpret_cast<std::uint64_t>(from) + at, n, stream), "a copy to the host");
  });
}

void copy_to_device_in(void* stream, char* to, const char* from, std::size_t bytes) {
  static copy_to_device* const copy = needed_of_driver<copy_to_device>("cuMemcpyHtoDAsync_v2");
  in_pieces(bytes, [&](std::size_t at, std::size_t n) {
    expect_success(copy(reinterpret_cast<std::uint64_t>(to) + at, from + at, n, stream), "a copy to the device");
  });
}

void copy_rows_in(void* stream, const memcpy_2d& rows) {
  static auto* const copy = needed_of_driver<int(const memcpy_2d*, void*)>("cuMemcpy2DAsync_v2");
  expect_success(copy(&rows, stream), "a copy of strided data");
  staged_bytes_.fetch_add(rows.width * rows.height, std::memory_order_relaxed);
}

/// `copy` for every piece, but `copy_rows` for those that the driver takes at once.
template <class Copy, class CopyRows>
void for_each_piece(const std::vector<data_run>& runs, Copy copy, CopyRows copy_rows) {
  for (const data_run& r : runs) {
    const auto pitch = static_cast<std::size_t>(r.stride);
    if (r.pieces > 1 && pitch <= max_pitch) {
      copy_rows(r, pitch);
      continue;
    }
    for (std::size_t i = 0; i < r.pieces; ++i) copy(r.offset + static_cast<std::int64_t>(i) * r.stride, r.bytes);
  }
}

void synchronize(void* stream) {
  static auto* const call = needed_of_driver<int(void*)>("cuStreamSynchronize");
  expect_success(call(stream), "cuStreamSynchronize");
}

void finish(void* stream, bool& busy) {
  if (busy) synchronize(stream);
  busy = false;
}

}  // namespace

pinned_memory take_pinned(std::size_t bytes, device_context* context) {
  const int log = std::max(12, static_cast<int>(std::bit_width(bytes == 0 ? 0 : bytes - 1)));
  pinned_memory memory{nullptr, std::size_t{1} << log, context};
  {
    const mutex_scope guard(context->lock);
    std::vector<char*>& pool = context->free_pinned[log];
    if (!pool.empty()) {
      memory.data = pool.back();
      pool.pop_back();
      return memory;
    }
  }
  const context_scope current(context);
  void* made = nullptr;
  // By the library's own, so that the watch sees this memory too.
  if (cuMemAllocHost_v2(&made, memory.bytes) != cuda_success) {
    give_up("stage: the driver gives no %zu B of pinned memory", memory.bytes);
  }
  memory.data = static_cast<char*>(made);
  return memory;
}

void give_pinned(pinned_memory& memory) {
  if (!memory) return;
  const mutex_scope guard(memory.context->lock);
  memory.context->free_pinned[std::countr_zero(memory.bytes)].push_back(memory.data);
  memory = {};
}

void start_copy_to_host(const pinned_memory& to, const void* from, std::size_t bytes) {
  lane& l = lane_in(to.context);
  l.reads = true;
  const context_scope current(to.context);
  copy_to_host_in(l.to_host, to.data, static_cast<const char*>(from), bytes);
}

void start_copy_to_device(void* to, const pinned_memory& from, std::size_t bytes) {
  lane& l = lane_in(from.context);
  l.writes = true;
  const context_scope current(from.context);
  copy_to_device_in(l.to_device, static_cast<char*>(to), from.data, bytes);
}

void start_copies_to_host(const pinned_memory& to, const char* from, const std::vector<data_run>& runs) {
  lane& l = lane_in(to.context);
  l.reads = true;
  const context_scope current(to.context);
  for_each_piece(
      runs, [&](std::int64_t at, std::size_t bytes) { copy_to_host_in(l.to_host, to.data + at, from + at, bytes); },
      [&](const data_run& r, std::size_t pitch) {
        copy_rows_in(l.to_host, {side_in(memory_device, from + r.offset, pitch),
                                 side_in(memory_host, to.data + r.offset, pitch), r.bytes, r.pieces});
      });
}

void start_copies_to_device(char* to, const pinned_memory& from, const std::vector<data_run>& runs) {
  lane& l = lane_in(from.context);
  l.writes = true;
  const context_scope current(from.context);
  for_each_piece(
      runs, [&](std::int64_t at, std::size_t bytes) { copy_to_device_in(l.to_device, to + at, from.data + at, bytes); },
      [&](const data_run& r, std::size_t pitch) {
        copy_rows_in(l.to_device, {side_in(memory_host, from.data + r.offset, pitch),
                                   side_in(memory_device, to + r.offset, pitch), r.bytes, r.pieces});
      });
}

void wait_for_default_streams(device_context* context) {
  const context_scope current(context);
  for (const std::uintptr_t stream : {legacy_stream, stream_per_thread}) synchronize(reinterpret_cast<void*>(stream));
}

void finish_copies() {
  if (lanes == nullptr) return;
  for (lane& l : *lanes) {
    if (!l.reads && !l.writes) continue;
    const context_scope current(l.context);
    finish(l.to_host, l.reads);
    finish(l.to_device, l.writes);
  }
}

}  // namespace imbrex::sessions
