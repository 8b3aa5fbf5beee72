#include "staging_memory.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <vector>

#include "device_context.h"
#include "staging_counts.h"

namespace imbrex::sessions {

namespace {

constexpr unsigned non_blocking_stream = 1;

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

void finish(void* stream, bool& busy) {
  static auto* const synchronize = needed_of_driver<int(void*)>("cuStreamSynchronize");
  if (busy) expect_success(synchronize(stream), "cuStreamSynchronize");
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
  auto* allocate = driver_function_as<int(void**, std::size_t)>(driver_cuMemAllocHost_v2);
  if (allocate == nullptr || allocate(&made, memory.bytes) != cuda_success) {
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
  using type = int(void*, std::uint64_t, std::size_t, void*);
  static type* const copy = needed_of_driver<type>("cuMemcpyDtoHAsync_v2");
  lane& l = lane_in(to.context);
  l.reads = true;
  const context_scope current(to.context);
  in_pieces(bytes, [&](std::size_t at, std::size_t n) {
    expect_success(copy(to.data + at, reinterpret_cast<std::uint64_t>(from) + at, n, l.to_host), "a copy to the host");
  });
}

void start_copy_to_device(void* to, const pinned_memory& from, std::size_t bytes) {
  using type = int(std::uint64_t, const void*, std::size_t, void*);
  static type* const copy = needed_of_driver<type>("cuMemcpyHtoDAsync_v2");
  lane& l = lane_in(from.context);
  l.writes = true;
  const context_scope current(from.context);
  in_pieces(bytes, [&](std::size_t at, std::size_t n) {
    expect_success(copy(reinterpret_cast<std::uint64_t>(to) + at, from.data + at, n, l.to_device),
                   "a copy to the device");
  });
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
