// A libcuda.so.1 without a GPU. It counts pointer queries and takes FAKE_CUDA_DELAY_NS for each; its device memory
// cannot be touched but through its copies: the address that it gives out is mapped without access, a second mapping of
// the same memory, known to it alone, is what copies use. So an MPI that reaches into device memory dies, as on a GPU.
// Copies to the device from memory that is not pinned return, up to 64 KB, before the data is there, as those of
// NVIDIA's driver do, unless CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is set. Asynchronous copies are done when they are waited
// for and not before; streams, events and device memory belong to the context that was current when they were made, and
// are refused in another.
#include "fake_cuda.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <mutex>
#include <vector>

namespace {

constexpr int invalid_value = 1;
constexpr int not_initialized = 3;
constexpr int invalid_context = 201;
constexpr int invalid_handle = 400;

struct context {
  std::uint64_t id;
  int ordinal;
};
context primary_contexts[] = {{1, 0}, {2, 1}};
std::uint64_t last_context_id = 2;

struct range {
  std::uint64_t bytes;
  char* alias;  // where its contents can be reached
  unsigned memory_type;
  bool managed;
  std::uint64_t id;
  context* owner;
  bool is_mapped = false;
  bool sync_memops = false;
};

struct copy {
  char* to;
  const char* from;
  std::size_t bytes;  // of each row
  std::size_t rows = 1, to_pitch = 0, from_pitch = 0;
};
struct stream {
  context* owner;
  std::uint64_t owner_id;
  std::deque<copy> waiting;
  unsigned long num_done;  // copies since it was made
};
struct event {
  context* owner;
  stream* behind;
  unsigned long num_copies;
};

struct opening {
  std::uint64_t seen_at;
  unsigned times;
};

std::mutex lock;
std::map<std::uint64_t, opening> openings;
std::map<std::uint64_t, range> ranges;
std::uint64_t next_id = 1;

/// In the default stream: taken from the program, but not yet on the device.
struct late_copy {
  char* to;
  std::vector<char> bytes;
};
std::deque<late_copy> default_stream;
constexpr std::size_t most_late_bytes = 64 << 10;
std::atomic<unsigned long> queries{0};
std::atomic<unsigned long> waits_for_default_stream{0};
std::atomic<bool> started{false};
thread_local std::vector<context*> current_contexts;

context* current_context() { return current_contexts.empty() ? nullptr : current_contexts.back(); }

/// Memory that is made without a context goes to the first device.
context* owner_of_new_memory() { return current_context() == nullptr ? &primary_contexts[0] : current_context(); }

double now_ns() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

void take_time() {
  ++queries;
  static const char* text = std::getenv("FAKE_CUDA_DELAY_NS");
  static const double delay = text == nullptr ? 0 : std::atof(text);
  const double begin = delay > 0 ? now_ns() : 0;
  while (delay > 0 && now_ns() - begin < delay) {
  }
}

const range* find(std::uint64_t pointer, std::uint64_t* start = nullptr) {
  auto after = ranges.upper_bound(pointer);
  if (after == ranges.begin()) return nullptr;
  --after;
  if (pointer >= after->first + after->second.bytes) return nullptr;
  if (start != nullptr) *start = after->first;
  return &after->second;
}

std::size_t whole_pages(std::size_t bytes) { return (bytes + 4095) / 4096 * 4096; }

std::uint64_t map_device_memory(std::size_t bytes) {
  const int file = memfd_create("fake device memory", 0);
  if (file < 0 || ftruncate(file, static_cast<off_t>(whole_pages(bytes))) != 0) return 0;
  void* seen = mmap(nullptr, whole_pages(bytes), PROT_NONE, MAP_SHARED, file, 0);
  void* alias = mmap(nullptr, whole_pages(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  const auto start = reinterpret_cast<std::uint64_t>(seen);
  ranges[start] = {bytes, static_cast<char*>(alias), 2, false, next_id++, owner_of_new_memory()};
  return start;
}

void run_default_stream() {
  for (const late_copy& c : default_stream) std::memcpy(c.to, c.bytes.data(), c.bytes.size());
  default_stream.clear();
}

int forget(std::uint64_t pointer, bool device) {
  const std::lock_guard<std::mutex> guard(lock);
  run_default_stream();
  const auto found = ranges.find(pointer);
  if (found == ranges.end()) return invalid_value;
  const range r = found->second;
  ranges.erase(found);
  if (device && r.memory_type == 2 && !r.managed) {
    munmap(reinterpret_cast<void*>(pointer), whole_pages(r.bytes));
    munmap(r.alias, whole_pages(r.bytes));
  }
  return 0;
}

char* reach_locked(std::uint64_t pointer) {
  std::uint64_t start = 0;
  const range* r = find(pointer, &start);
  return r == nullptr || r->alias == nullptr ? reinterpret_cast<char*>(pointer) : r->alias + (pointer - start);
}
char* reach(std::uint64_t pointer) {
  const std::lock_guard<std::mutex> guard(lock);
  return reach_locked(pointer);
}

template <class T>
void put(void* data, T value) {
  std::memcpy(data, &value, sizeof value);
}

/// As the driver: 1 for memory that it does not know.
int attribute_of(void* data, int attribute, std::uint64_t pointer) {
  std::uint64_t start = 0;
  const range* r = find(pointer, &start);
  if (r == nullptr) return invalid_value;
  switch (attribute) {
    case 1: put(data, static_cast<void*>(r->owner)); return 0;
    case 2: put(data, r->memory_type); return 0;
    case 3:
    case 4: put(data, pointer); return 0;
    case 7: put(data, r->id); return 0;
    case 8: put(data, static_cast<unsigned char>(r->managed)); return 0;
    case 9: put(data, r->owner->ordinal); return 0;
    case 11: put(data, start); return 0;
    case 12: put(data, r->bytes); return 0;
    default: return invalid_value;
  }
}

void put_nothing(void* data, int attribute) {
  const bool is_long =
      attribute == 1 || attribute == 3 || attribute == 4 || attribute == 7 || attribute == 11 || attribute == 12;
  if (attribute == 9) return put(data, -2);
  if (attribute == 8) return put(data, static_cast<unsigned char>(0));
  is_long ? put(data, std::uint64_t{0}) : put(data, 0);
}

bool is_default_stream(const void* in) { return reinterpret_cast<std::uint64_t>(in) <= 2; }  // null, legacy, per thread

void run_until(stream& s, unsigned long num_copies) {
  while (!s.waiting.empty() && s.num_done < num_copies) {
    const copy& c = s.waiting.front();
    for (std::size_t i = 0; i < c.rows; ++i) std::memcpy(c.to + i * c.to_pitch, c.from + i * c.from_pitch, c.bytes);
    s.waiting.pop_front();
    ++s.num_done;
  }
}

/// Whether all that is copied from or to an address lies in one range.
bool holds(const range* r, std::uint64_t address, const copy& c, std::size_t pitch) {
  return r != nullptr && find(address + (c.rows - 1) * pitch + c.bytes - 1) == r;
}

/// Between pinned memory and memory of a context, in a stream of that context, while it is current.
int enqueue(void* in, device_pointer device, bool to_host, const copy& c) {
  const std::lock_guard<std::mutex> guard(lock);
  auto* s = static_cast<stream*>(in);
  const range* r = find(device);
  const auto host_address = reinterpret_cast<std::uint64_t>(to_host ? c.to : c.from);
  const range* host = find(host_address);
  if (!holds(r, device, c, to_host ? c.from_pitch : c.to_pitch)) return invalid_value;
  if (!holds(host, host_address, c, to_host ? c.to_pitch : c.from_pitch) || host->memory_type != 1)
    return invalid_value;
  if (s->owner != current_context()) return invalid_context;
  if (r->owner != s->owner || s->owner_id != s->owner->id) return invalid_handle;
  s->waiting.push_back(c);
  return 0;
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  started = true;
  return 0;
}
int cuCtxGetCurrent(void** found) {
  *found = current_context();
  return started ? 0 : not_initialized;
}
int cuCtxSetCurrent(void* made) {
  if (current_contexts.empty()) current_contexts.push_back(nullptr);
  current_contexts.back() = static_cast<context*>(made);
  return 0;
}
int cuCtxPushCurrent_v2(void* made) {
  current_contexts.push_back(static_cast<context*>(made));
  return made == nullptr ? invalid_context : 0;
}
int cuCtxPopCurrent_v2(void** popped) {
  if (current_contexts.empty()) return invalid_context;
  *popped = current_contexts.back();
  current_contexts.pop_back();
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}
int cuDevicePrimaryCtxRetain(void** made, int ordinal) {
  if (ordinal < 0 || ordinal > 1) return 101;
  *made = &primary_contexts[ordinal];
  return 0;
}
int cuCtxCreate_v2(void** made, unsigned, int ordinal) {
  const std::lock_guard<std::mutex> guard(lock);
  *made = new context{++last_context_id, ordinal};
  return cuCtxPushCurrent_v2(*made);
}
/// Its memory goes with it. The next context may lie at the same address, as the driver's may.
int cuCtxDestroy_v2(void* made) {
  {
    const std::lock_guard<std::mutex> guard(lock);
    run_default_stream();
    std::erase_if(ranges, [=](const auto& r) { return r.second.owner == made; });
  }
  delete static_cast<context*>(made);
  if (current_context() == made) current_contexts.pop_back();
  return 0;
}
int cuCtxGetId(void* made, uint64_t* id) {
  *id = static_cast<context*>(made)->id;
  return 0;
}

int cuPointerGetAttribute(void* data, int attribute, device_pointer pointer) {
  take_time();
  const std::lock_guard<std::mutex> guard(lock);
  return attribute_of(data, attribute, pointer);
}
int cuPointerGetAttributes(unsigned count, int* attributes, void** data, device_pointer pointer) {
  take_time();
  const std::lock_guard<std::mutex> guard(lock);
  for (unsigned i = 0; i < count; ++i) {
    if (attribute_of(data[i], attributes[i], pointer) != 0) put_nothing(data[i], attributes[i]);
  }
  return 0;
}

int cuMemAlloc_v2(device_pointer* made, size_t bytes) {
  if (current_context() == nullptr) return invalid_context;
  const std::lock_guard<std::mutex> guard(lock);
  *made = map_device_memory(bytes);
  return *made == 0 ? 2 : 0;
}
int cuMemAllocManaged(device_pointer* made, size_t bytes, unsigned) {
  if (current_context() == nullptr) return invalid_context;
  const std::lock_guard<std::mutex> guard(lock);
  *made = reinterpret_cast<device_pointer>(std::calloc(1, bytes));
  ranges[*made] = {bytes, nullptr, 2, true, next_id++, owner_of_new_memory()};
  return 0;
}
int cuMemFree_v2(device_pointer memory) { return forget(memory, true); }
int cuMemAllocHost_v2(void** made, size_t bytes) {
  if (current_context() == nullptr) return invalid_context;
  const std::lock_guard<std::mutex> guard(lock);
  *made = std::calloc(1, bytes);
  ranges[reinterpret_cast<std::uint64_t>(*made)] = {bytes, nullptr, 1, false, next_id++, owner_of_new_memory()};
  return 0;
}
int cuMemFreeHost(void* memory) {
  const int result = forget(reinterpret_cast<std::uint64_t>(memory), false);
  if (result == 0) std::free(memory);
  return result;
}
int cuMemHostRegister_v2(void* memory, size_t bytes, unsigned) {
  const std::lock_guard<std::mutex> guard(lock);
  ranges[reinterpret_cast<std::uint64_t>(memory)] = {bytes, nullptr, 1, false, next_id++, owner_of_new_memory()};
  return 0;
}
int cuMemHostUnregister(void* memory) { return forget(reinterpret_cast<std::uint64_t>(memory), false); }
int cuModuleUnload(void*) { return 0; }

// Memory of the process itself, seen at another address; opened again it is there again, until closed as often.
int cuIpcGetMemHandle(fake_ipc_handle* handle, device_pointer memory) {
  std::memcpy(handle->reserved, &memory, sizeof memory);
  return 0;
}
int cuIpcOpenMemHandle_v2(device_pointer* made, fake_ipc_handle handle, unsigned) {
  device_pointer memory = 0;
  std::memcpy(&memory, handle.reserved, sizeof memory);
  const std::lock_guard<std::mutex> guard(lock);
  const range* r = find(memory);
  if (r == nullptr) return invalid_value;
  opening& o = openings[memory];
  if (o.times++ == 0) o.seen_at = map_device_memory(r->bytes);
  *made = o.seen_at;
  return 0;
}
int cuIpcCloseMemHandle(device_pointer memory) {
  const auto found =
      std::find_if(openings.begin(), openings.end(), [=](const auto& o) { return o.second.seen_at == memory; });
  if (found == openings.end()) return invalid_value;
  if (--found->second.times > 0) return 0;
  openings.erase(found);
  return forget(memory, true);
}
int cuMemGetAddressRange_v2(device_pointer* start, size_t* bytes, device_pointer pointer) {
  const std::lock_guard<std::mutex> guard(lock);
  const range* r = find(pointer, start);
  if (r == nullptr) return invalid_value;
  *bytes = r->bytes;
  return 0;
}

int cuPointerSetAttribute(const void* value, int attribute, device_pointer pointer) {
  const std::lock_guard<std::mutex> guard(lock);
  const range* r = find(pointer);
  if (attribute != 6 || r == nullptr || r->memory_type != 2 || r->managed || r->is_mapped) return invalid_value;
  const_cast<range*>(r)->sync_memops = *static_cast<const unsigned*>(value) != 0;
  return 0;
}

int cuMemcpyDtoH_v2(void* to, device_pointer from, size_t bytes) {
  if (current_context() == nullptr) return invalid_context;
  const std::lock_guard<std::mutex> guard(lock);
  run_default_stream();
  std::memcpy(to, reach_locked(from), bytes);
  return 0;
}
int cuMemcpyHtoD_v2(device_pointer to, const void* from, size_t bytes) {
  if (current_context() == nullptr) return invalid_context;
  const std::lock_guard<std::mutex> guard(lock);
  run_default_stream();
  const range* r = find(to);
  const bool is_pinned = find(reinterpret_cast<std::uint64_t>(from)) != nullptr;
  if (r == nullptr || r->sync_memops || is_pinned || bytes > most_late_bytes) {
    std::memcpy(reach_locked(to), from, bytes);
  } else {
    const char* first = static_cast<const char*>(from);
    default_stream.push_back({reach_locked(to), {first, first + bytes}});
  }
  return 0;
}
int cuMemcpyDtoHAsync_v2(void* to, device_pointer from, size_t bytes, void* in) {
  return enqueue(in, from, true, {static_cast<char*>(to), reach(from), bytes});
}
int cuMemcpyHtoDAsync_v2(device_pointer to, const void* from, size_t bytes, void* in) {
  return enqueue(in, to, false, {reach(to), static_cast<const char*>(from), bytes});
}
int cuMemcpy2DAsync_v2(const fake_memcpy_2d* c, void* in) {
  const bool to_host = c->from.memory_type == 2;
  const bool known = to_host ? c->to.memory_type == 1 : c->from.memory_type == 1 && c->to.memory_type == 2;
  const std::size_t least = c->from.pitch < c->to.pitch ? c->from.pitch : c->to.pitch;
  const std::size_t most = c->from.pitch < c->to.pitch ? c->to.pitch : c->from.pitch;
  if (!known || c->height == 0 || c->width == 0 || least < c->width || most > 0x7fffffff) return invalid_value;
  if (c->from.x != 0 || c->from.y != 0 || c->to.x != 0 || c->to.y != 0) return invalid_value;  // nobody needs them
  copy made{nullptr, nullptr, c->width, c->height, c->to.pitch, c->from.pitch};
  made.to = to_host ? static_cast<char*>(c->to.host) : reach(c->to.device);
  made.from = to_host ? reach(c->from.device) : static_cast<const char*>(c->from.host);
  return enqueue(in, to_host ? c->from.device : c->to.device, to_host, made);
}
int cuStreamCreate(void** made, unsigned) {
  if (current_context() == nullptr) return invalid_context;
  *made = new stream{current_context(), current_context()->id, {}, 0};
  return 0;
}
int cuStreamSynchronize(void* in) {
  const std::lock_guard<std::mutex> guard(lock);
  if (is_default_stream(in)) {
    ++waits_for_default_stream;
    run_default_stream();
  } else {
    run_until(*static_cast<stream*>(in), ~0ul);
  }
  return 0;
}
int cuEventCreate(void** made, unsigned) {
  if (current_context() == nullptr) return invalid_context;
  *made = new event{current_context(), nullptr, 0};
  return 0;
}
int cuEventRecord(void* made, void* in) {
  const std::lock_guard<std::mutex> guard(lock);
  auto* e = static_cast<event*>(made);
  auto* s = static_cast<stream*>(in);
  if (e->owner != s->owner || e->owner != current_context()) return invalid_handle;
  e->behind = s;
  e->num_copies = s->num_done + s->waiting.size();
  return 0;
}
int cuEventSynchronize(void* made) {
  const std::lock_guard<std::mutex> guard(lock);
  auto* e = static_cast<event*>(made);
  if (e->behind != nullptr) run_until(*e->behind, e->num_copies);
  return 0;
}

unsigned long fake_cuda_queries(void) { return queries; }
unsigned long fake_cuda_waits_for_default_stream(void) { return waits_for_default_stream; }
device_pointer fake_cuda_secret_memory(void) {
  const std::lock_guard<std::mutex> guard(lock);
  return map_device_memory(4096);
}
device_pointer fake_cuda_abutting_memory(size_t bytes_of_each) {
  const std::lock_guard<std::mutex> guard(lock);
  const std::uint64_t start = map_device_memory(2 * bytes_of_each);
  range& first = ranges[start];
  first.bytes = bytes_of_each;
  first.is_mapped = true;
  ranges[start + bytes_of_each] = {bytes_of_each, first.alias + bytes_of_each, 2, false, next_id++, first.owner, true};
  return start;
}

int cuGetProcAddress_v2(const char* name, void** found, int, uint64_t, int* status) {
  struct known {
    const char* name;
    void* function;
  };
#define FAKE(name, function) {name, reinterpret_cast<void*>(&function)}
  static const known functions[] = {FAKE("cuGetProcAddress", cuGetProcAddress_v2),
                                    FAKE("cuInit", cuInit),
                                    FAKE("cuMemAlloc", cuMemAlloc_v2),
                                    FAKE("cuMemFree", cuMemFree_v2),
                                    FAKE("cuPointerGetAttribute", cuPointerGetAttribute),
                                    FAKE("cuPointerGetAttributes", cuPointerGetAttributes)};
#undef FAKE
  *found = nullptr;
  for (const known& k : functions) {
    if (std::strcmp(k.name, name) == 0) *found = k.function;
  }
  if (status != nullptr) *status = *found == nullptr ? 1 : 0;
  return 0;
}
}
