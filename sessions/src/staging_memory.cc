#include "staging_memory.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "driver.h"
#include "settings.h"
#include "staging_counts.h"

namespace imbrex::sessions {

namespace {

class lock {
 public:
  explicit lock(pthread_mutex_t& m) : m_(m) { pthread_mutex_lock(&m_); }
  ~lock() { pthread_mutex_unlock(&m_); }
  lock(const lock&) = delete;
  lock& operator=(const lock&) = delete;

 private:
  pthread_mutex_t& m_;
};

constexpr int num_sizes = 48;
pthread_mutex_t pool_lock = PTHREAD_MUTEX_INITIALIZER;

std::vector<char*>& free_of_size(int log) {
  static auto* pools = new std::vector<char*>[num_sizes];  // outlives the last MPI call, whenever that is
  return pools[log];
}

std::vector<void*>& free_marks() {
  static auto* marks = new std::vector<void*>;
  return *marks;
}

template <class Function>
Function* needed(const char* name) {
  auto* found = reinterpret_cast<Function*>(other_driver_function(name));
  if (found == nullptr) give_up("stage: the driver has no %s", name);
  return found;
}

void expect(int result, const char* what) {
  if (result != cuda_success) give_up("stage: %s failed with the driver's error %d", what, result);
}

/// One per thread: the copies of a thread keep their order, and threads do not wait for each other. It belongs to the
/// context that is current at the thread's first copy.
void* stream_here() {
  constexpr unsigned non_blocking = 1;
  static thread_local void* stream = nullptr;
  if (stream == nullptr)
    expect(needed<int(void**, unsigned)>("cuStreamCreate")(&stream, non_blocking), "cuStreamCreate");
  return stream;
}

template <class Copy>
void in_pieces(std::size_t bytes, Copy copy) {
  const std::size_t piece = current_settings().chunk_bytes;
  for (std::size_t done = 0; done < bytes; done += piece) copy(done, std::min(piece, bytes - done));
  staged_bytes_.fetch_add(bytes, std::memory_order_relaxed);
}

}  // namespace

pinned_memory take_pinned(std::size_t bytes) {
  const int log = std::max(12, static_cast<int>(std::bit_width(bytes == 0 ? 0 : bytes - 1)));
  pinned_memory memory{nullptr, std::size_t{1} << log};
  {
    const lock guard(pool_lock);
    std::vector<char*>& pool = free_of_size(log);
    if (!pool.empty()) {
      memory.data = pool.back();
      pool.pop_back();
      return memory;
    }
  }
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
  const lock guard(pool_lock);
  free_of_size(std::countr_zero(memory.bytes)).push_back(memory.data);
  memory = {};
}

void start_copy_to_host(void* to, const void* from, std::size_t bytes) {
  using type = int(void*, std::uint64_t, std::size_t, void*);
  static type* const copy = needed<type>("cuMemcpyDtoHAsync_v2");
  const auto device = reinterpret_cast<std::uint64_t>(from);
  in_pieces(bytes, [=](std::size_t at, std::size_t n) {
    expect(copy(static_cast<char*>(to) + at, device + at, n, stream_here()), "a copy to the host");
  });
}

void start_copy_to_device(void* to, const void* from, std::size_t bytes) {
  using type = int(std::uint64_t, const void*, std::size_t, void*);
  static type* const copy = needed<type>("cuMemcpyHtoDAsync_v2");
  const auto device = reinterpret_cast<std::uint64_t>(to);
  in_pieces(bytes, [=](std::size_t at, std::size_t n) {
    expect(copy(device + at, static_cast<const char*>(from) + at, n, stream_here()), "a copy to the device");
  });
}

void finish_copies() {
  static auto* const synchronize = needed<int(void*)>("cuStreamSynchronize");
  expect(synchronize(stream_here()), "cuStreamSynchronize");
}

void* mark_copies() {
  constexpr unsigned no_timing = 2;
  void* mark = nullptr;
  {
    const lock guard(pool_lock);
    if (!free_marks().empty()) {
      mark = free_marks().back();
      free_marks().pop_back();
    }
  }
  if (mark == nullptr) expect(needed<int(void**, unsigned)>("cuEventCreate")(&mark, no_timing), "cuEventCreate");
  static auto* const record = needed<int(void*, void*)>("cuEventRecord");
  expect(record(mark, stream_here()), "cuEventRecord");
  return mark;
}

void wait_for_mark(void* mark) {
  static auto* const synchronize = needed<int(void*)>("cuEventSynchronize");
  expect(synchronize(mark), "cuEventSynchronize");
  const lock guard(pool_lock);
  free_marks().push_back(mark);
}

}  // namespace imbrex::sessions
