// Stands before the functions of the driver that make and free memory.
#include "driver/driver_watch.h"

#include <pthread.h>

#include <atomic>
#include <map>

#include "base/settings.h"
#include "driver/driver.h"

namespace imbrex::sessions {

allocation_cache live_allocations;

std::atomic<const char*> incomplete_since{nullptr};

namespace {

void no_longer_complete(const char* because) {
  const char* expected = nullptr;
  incomplete_since.compare_exchange_strong(expected, because);
}

bool watching() { return (current_settings().modes & (mode_elide | mode_stage)) != 0; }

/// Asks the driver what it says of new memory; it is asked once, whatever its answers are.
bool describe(std::uint64_t start, allocation& made) {
  auto* ask = driver_function_as<get_attributes>(driver_cuPointerGetAttributes);
  if (ask == nullptr) return false;
  int attributes[] = {attribute_context, attribute_memory_type, attribute_buffer_id, attribute_is_managed,
                      attribute_ordinal};
  std::uint64_t values[5] = {};
  void* data[] = {&values[0], &values[1], &values[2], &values[3], &values[4]};
  if (ask(5, attributes, data, start) != cuda_success) return false;
  made.context = values[0];
  made.memory_type = static_cast<std::uint8_t>(values[1]);
  made.buffer_id = values[2];
  made.is_managed = static_cast<std::uint8_t>(values[3]);
  made.ordinal = static_cast<std::int32_t>(values[4]);
  return made.memory_type == memory_host || made.memory_type == memory_device;
}

/// A small copy from ordinary memory, or from device to device, returns before its data has arrived, unless the memory
/// is told to wait. A program that calls one and then MPI relies on it, and CUDA-aware MPIs tell the memory, too.
bool make_copies_synchronous(std::uint64_t start) {
  using type = int(const void*, int, std::uint64_t);
  static auto* set = reinterpret_cast<type*>(other_driver_function("cuPointerSetAttribute"));
  const unsigned yes = 1;
  return set != nullptr && set(&yes, attribute_sync_memops, start) == cuda_success;
}

void made_memory(std::uint64_t start, std::uint64_t bytes, driver_id by) {
  if (!watching() || bytes == 0) return;
  allocation made;
  made.start = start;
  made.end = start + bytes;
  const bool described = describe(start, made);
  if ((current_settings().modes & mode_stage) != 0 && made.memory_type == memory_device && made.is_managed == 0)
    made.copies_are_synchronous = make_copies_synchronous(start);
  if (!described || !live_allocations.insert(made)) no_longer_complete(name_of(by));
}

/// Memory of a graph that is being captured comes and goes with its launches, which nobody announces.
bool is_capturing(void* stream) {
  using type = int(void*, int*);
  static auto* ask = reinterpret_cast<type*>(other_driver_function("cuStreamIsCapturing"));
  int status = 0;
  return ask == nullptr || ask(stream, &status) != cuda_success || status != 0;
}

/// Forgets memory before it is freed, since another thread may be given it at once; remembers it if that failed.
template <class Free>
int freeing(std::uint64_t start, Free free_it) {
  allocation known;
  const bool watched = watching() && live_allocations.find(start, known) == allocation_cache::answer::found;
  if (watched) live_allocations.erase(known.start);
  const int result = free_it();
  if (result != cuda_success && watched && !live_allocations.insert(known)) no_longer_complete("a failed free");
  return result;
}

/// Memory of another process may be opened several times, and is there until it was closed as often.
class opened_memory {
 public:
  void opened(std::uint64_t start) {
    pthread_mutex_lock(&mutex_);
    ++times_[start];
    pthread_mutex_unlock(&mutex_);
  }
  /// One less; whether it was the last.
  bool closed(std::uint64_t start) {
    pthread_mutex_lock(&mutex_);
    const auto found = times_.find(start);
    const bool last = found == times_.end() || --found->second == 0;
    if (last && found != times_.end()) times_.erase(found);
    pthread_mutex_unlock(&mutex_);
    return last;
  }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  std::map<std::uint64_t, unsigned> times_;
};
opened_memory& memory_of_others() {
  static auto* const all = new opened_memory;  // used until the process has ended
  return *all;
}

template <class... Arguments>
int call(driver_id id, Arguments... arguments) {
  auto* real = driver_function_as<int(Arguments...)>(id);
  return real == nullptr ? cuda_not_initialized : real(arguments...);
}

/// For functions after which the cache cannot know all.
template <class... Arguments>
int call_and_lose(driver_id id, Arguments... arguments) {
  const int result = call(id, arguments...);
  if (result == cuda_success && watching()) no_longer_complete(name_of(id));
  return result;
}

/// For functions that free much at once: what is not known is asked of the driver from then on.
template <class... Arguments>
int call_and_clear(driver_id id, Arguments... arguments) {
  if (watching()) {
    no_longer_complete(name_of(id));
    live_allocations.clear();
  }
  return call(id, arguments...);
}

}  // namespace

const char* why_incomplete() {
  const char* because = incomplete_since.load();
  return because == nullptr ? "" : because;
}

void start_watching() {
  using type = int(void**);
  auto* current = reinterpret_cast<type*>(other_driver_function("cuCtxGetCurrent"));
  void* context = nullptr;
  if (current != nullptr && current(&context) == cuda_success) no_longer_complete("the driver was at work before");
}

}  // namespace imbrex::sessions

using namespace imbrex::sessions;  // NOLINT: what follows are C functions

using device_pointer = std::uint64_t;

struct ipc_handle {
  char reserved[64];
};

extern "C" {
#pragma GCC visibility push(default)

int cuMemAlloc_v2(device_pointer* made, std::size_t bytes) {
  const int result = call(driver_cuMemAlloc_v2, made, bytes);
  if (result == cuda_success) made_memory(*made, bytes, driver_cuMemAlloc_v2);
  return result;
}

int cuMemAllocPitch_v2(device_pointer* made, std::size_t* pitch, std::size_t width, std::size_t height, unsigned size) {
  const int result = call(driver_cuMemAllocPitch_v2, made, pitch, width, height, size);
  if (result == cuda_success) made_memory(*made, *pitch * height, driver_cuMemAllocPitch_v2);
  return result;
}

int cuMemAllocManaged(device_pointer* made, std::size_t bytes, unsigned flags) {
  const int result = call(driver_cuMemAllocManaged, made, bytes, flags);
  if (result == cuda_success) made_memory(*made, bytes, driver_cuMemAllocManaged);
  return result;
}

#define IX_ALLOC_ASYNC(name)                                        \
  int name(device_pointer* made, std::size_t bytes, void* stream) { \
    const int result = call(driver_##name, made, bytes, stream);    \
    if (result != cuda_success || !watching()) return result;       \
    if (is_capturing(stream)) {                                     \
      no_longer_complete(#name " while capturing");                 \
    } else {                                                        \
      made_memory(*made, bytes, driver_##name);                     \
    }                                                               \
    return result;                                                  \
  }
IX_ALLOC_ASYNC(cuMemAllocAsync)
IX_ALLOC_ASYNC(cuMemAllocAsync_ptsz)
#undef IX_ALLOC_ASYNC

#define IX_ALLOC_FROM_POOL(name)                                                \
  int name(device_pointer* made, std::size_t bytes, void* pool, void* stream) { \
    const int result = call(driver_##name, made, bytes, pool, stream);          \
    if (result != cuda_success || !watching()) return result;                   \
    if (is_capturing(stream)) {                                                 \
      no_longer_complete(#name " while capturing");                             \
    } else {                                                                    \
      made_memory(*made, bytes, driver_##name);                                 \
    }                                                                           \
    return result;                                                              \
  }
IX_ALLOC_FROM_POOL(cuMemAllocFromPoolAsync)
IX_ALLOC_FROM_POOL(cuMemAllocFromPoolAsync_ptsz)
#undef IX_ALLOC_FROM_POOL

int cuMemAllocHost_v2(void** made, std::size_t bytes) {
  const int result = call(driver_cuMemAllocHost_v2, made, bytes);
  if (result == cuda_success) made_memory(reinterpret_cast<device_pointer>(*made), bytes, driver_cuMemAllocHost_v2);
  return result;
}

int cuMemHostAlloc(void** made, std::size_t bytes, unsigned flags) {
  const int result = call(driver_cuMemHostAlloc, made, bytes, flags);
  if (result == cuda_success) made_memory(reinterpret_cast<device_pointer>(*made), bytes, driver_cuMemHostAlloc);
  return result;
}

int cuMemHostRegister_v2(void* memory, std::size_t bytes, unsigned flags) {
  const int result = call(driver_cuMemHostRegister_v2, memory, bytes, flags);
  if (result == cuda_success) {
    made_memory(reinterpret_cast<device_pointer>(memory), bytes, driver_cuMemHostRegister_v2);
  }
  return result;
}

int cuMemMap(device_pointer at, std::size_t bytes, std::size_t offset, std::uint64_t handle, std::uint64_t flags) {
  const int result = call(driver_cuMemMap, at, bytes, offset, handle, flags);
  if (result == cuda_success) made_memory(at, bytes, driver_cuMemMap);
  return result;
}

int cuIpcOpenMemHandle_v2(device_pointer* made, ipc_handle handle, unsigned flags) {
  const int result = call(driver_cuIpcOpenMemHandle_v2, made, handle, flags);
  if (result != cuda_success || !watching()) return result;
  using type = int(device_pointer*, std::size_t*, device_pointer);
  static auto* range = reinterpret_cast<type*>(other_driver_function("cuMemGetAddressRange_v2"));
  device_pointer start = 0;
  std::size_t bytes = 0;
  if (range == nullptr || range(&start, &bytes, *made) != cuda_success) {
    no_longer_complete(name_of(driver_cuIpcOpenMemHandle_v2));
  } else {
    made_memory(start, bytes, driver_cuIpcOpenMemHandle_v2);
  }
  memory_of_others().opened(*made);
  return result;
}

#define IX_GET_GLOBAL(name)                                                             \
  int name(device_pointer* made, std::size_t* bytes, void* owner, const char* symbol) { \
    device_pointer start = 0;                                                           \
    std::size_t length = 0;                                                             \
    const int result = call(driver_##name, &start, &length, owner, symbol);             \
    if (result != cuda_success) return result;                                          \
    if (made != nullptr) *made = start;                                                 \
    if (bytes != nullptr) *bytes = length;                                              \
    made_memory(start, length, driver_##name);                                          \
    return result;                                                                      \
  }
IX_GET_GLOBAL(cuModuleGetGlobal_v2)
IX_GET_GLOBAL(cuLibraryGetGlobal)
IX_GET_GLOBAL(cuLibraryGetManaged)
#undef IX_GET_GLOBAL

int cuMemFree_v2(device_pointer memory) {
  return freeing(memory, [=] { return call(driver_cuMemFree_v2, memory); });
}
int cuMemFreeAsync(device_pointer memory, void* stream) {
  return freeing(memory, [=] { return call(driver_cuMemFreeAsync, memory, stream); });
}
int cuMemFreeAsync_ptsz(device_pointer memory, void* stream) {
  return freeing(memory, [=] { return call(driver_cuMemFreeAsync_ptsz, memory, stream); });
}
int cuMemFreeHost(void* memory) {
  return freeing(reinterpret_cast<device_pointer>(memory), [=] { return call(driver_cuMemFreeHost, memory); });
}
int cuMemHostUnregister(void* memory) {
  return freeing(reinterpret_cast<device_pointer>(memory), [=] { return call(driver_cuMemHostUnregister, memory); });
}
int cuIpcCloseMemHandle(device_pointer memory) {
  if (!watching() || memory_of_others().closed(memory))
    return freeing(memory, [=] { return call(driver_cuIpcCloseMemHandle, memory); });
  const int result = call(driver_cuIpcCloseMemHandle, memory);
  if (result != cuda_success) memory_of_others().opened(memory);
  return result;
}
int cuMemUnmap(device_pointer at, std::size_t bytes) {
  if (watching()) live_allocations.erase_overlapping(at, at + bytes);
  const int result = call(driver_cuMemUnmap, at, bytes);
  if (result != cuda_success && watching()) no_longer_complete("a failed cuMemUnmap");
  return result;
}

int cuModuleUnload(void* module) { return call_and_clear(driver_cuModuleUnload, module); }
int cuLibraryUnload(void* library) { return call_and_clear(driver_cuLibraryUnload, library); }
int cuCtxDestroy_v2(void* context) { return call_and_clear(driver_cuCtxDestroy_v2, context); }
int cuDevicePrimaryCtxReset_v2(int device) { return call_and_clear(driver_cuDevicePrimaryCtxReset_v2, device); }
int cuDevicePrimaryCtxRelease_v2(int device) { return call_and_clear(driver_cuDevicePrimaryCtxRelease_v2, device); }
int cuMemPoolDestroy(void* pool) { return call_and_clear(driver_cuMemPoolDestroy, pool); }

int cuMemPoolImportPointer(device_pointer* made, void* pool, void* data) {
  return call_and_lose(driver_cuMemPoolImportPointer, made, pool, data);
}
int cuExternalMemoryGetMappedBuffer(device_pointer* made, void* memory, const void* description) {
  return call_and_lose(driver_cuExternalMemoryGetMappedBuffer, made, memory, description);
}
int cuGraphicsResourceGetMappedPointer_v2(device_pointer* made, std::size_t* bytes, void* resource) {
  return call_and_lose(driver_cuGraphicsResourceGetMappedPointer_v2, made, bytes, resource);
}
int cuGraphAddMemAllocNode(void* node, void* graph, const void* needed, std::size_t num_needed, void* parameters) {
  return call_and_lose(driver_cuGraphAddMemAllocNode, node, graph, needed, num_needed, parameters);
}

/// The kind of node is the first member of its parameters; 10 is CU_GRAPH_NODE_TYPE_MEM_ALLOC.
int cuGraphAddNode(void* node, void* graph, const void* needed, std::size_t num_needed, int* parameters) {
  const int result = call(driver_cuGraphAddNode, node, graph, needed, num_needed, parameters);
  if (watching() && parameters != nullptr && *parameters == 10) no_longer_complete("cuGraphAddNode");
  return result;
}
int cuGraphAddNode_v2(void* node, void* graph, const void* needed, const void* edges, std::size_t num_needed,
                      int* parameters) {
  const int result = call(driver_cuGraphAddNode_v2, node, graph, needed, edges, num_needed, parameters);
  if (watching() && parameters != nullptr && *parameters == 10) no_longer_complete("cuGraphAddNode_v2");
  return result;
}

#pragma GCC visibility pop
}
