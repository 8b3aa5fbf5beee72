#include "driver/elision.h"

#include <atomic>
#include <cstring>

#include "driver/driver.h"
#include "driver/driver_watch.h"

namespace imbrex::sessions {

learned_memory_type host_memory_type;

namespace {

constexpr int num_attributes = 16;

/// What the driver says of an attribute of any ordinary host memory.
struct learned {
  std::atomic<bool> known{false};
  std::atomic<bool> useless{false};  ///< it depends on the pointer
  int result = 0;
  unsigned bytes = 0;  ///< how many it writes
  std::uint64_t value = 0;
};
learned of_one[num_attributes];   // by cuPointerGetAttribute
learned of_many[num_attributes];  // by cuPointerGetAttributes, which treats unknown memory otherwise

/// What kind of answer there is; fills `found` for source::cached.
source look_up(const thread_state& thread, std::uint64_t pointer, allocation& found) {
  if (declared_place(thread, pointer) == place::host) return source::declared;
  const allocation_cache::answer known = live_allocations.find(pointer, found);
  if (known == allocation_cache::answer::found) return source::cached;
  const bool is_host = known == allocation_cache::answer::unknown_address && watch_is_complete();
  return is_host ? source::host : source::none;
}

bool put(void* data, std::uint64_t value, unsigned bytes) {
  std::memcpy(data, &value, bytes);
  return true;
}

bool may_be_learned(int attribute) {
  return attribute == attribute_context || attribute == attribute_memory_type || attribute == attribute_buffer_id ||
         attribute == attribute_is_managed || attribute == attribute_ordinal;
}

/// Asks with two different contents of the place for the answer: what is the same after both was written.
template <class Ask>
void learn(learned& l, std::uint64_t pointer, Ask ask) {
  if (l.known.load(std::memory_order_acquire) || l.useless.load(std::memory_order_relaxed)) return;
  std::uint64_t a = 0xA5A5A5A5A5A5A5A5u;
  std::uint64_t b = ~a;
  const int result = ask(&a);
  const bool sound = result == ask(&b) && (result == cuda_success || result == cuda_invalid_value);
  unsigned bytes = 0;
  while (bytes < 8 && (a >> 8 * bytes & 0xFF) == (b >> 8 * bytes & 0xFF)) ++bytes;
  const bool of_pointer = bytes == 8 && a == pointer && pointer != 0;
  if (!sound || of_pointer) {
    if (of_pointer) l.useless.store(true, std::memory_order_relaxed);
    return;
  }
  // Threads that learn at once write the same.
  __atomic_store_n(&l.result, result, __ATOMIC_RELAXED);
  __atomic_store_n(&l.bytes, bytes, __ATOMIC_RELAXED);
  __atomic_store_n(&l.value, a, __ATOMIC_RELAXED);
  l.known.store(true, std::memory_order_release);
}

/// Ordinary host memory beyond doubt.
std::uint64_t own_memory;

void learn_one(int attribute) {
  auto* ask = driver_function_as<get_attribute>(driver_cuPointerGetAttribute);
  const auto pointer = reinterpret_cast<std::uint64_t>(&own_memory);
  if (ask == nullptr) return;
  learn(of_one[attribute], pointer, [=](std::uint64_t* data) { return ask(data, attribute, pointer); });
}

void learn_many(int attribute) {
  auto* ask = driver_function_as<get_attributes>(driver_cuPointerGetAttributes);
  const auto pointer = reinterpret_cast<std::uint64_t>(&own_memory);
  if (ask == nullptr) return;
  learn(of_many[attribute], pointer, [=](std::uint64_t* data) {
    int attributes[] = {attribute};
    void* places[] = {data};
    return ask(1, attributes, places, pointer);
  });
}

void learn_memory_type() {
  learned& l = of_one[attribute_memory_type];
  learn_one(attribute_memory_type);
  if (!l.known.load(std::memory_order_acquire) || (l.bytes != 0 && l.bytes != sizeof(unsigned))) return;
  __atomic_store_n(&host_memory_type.result, l.result, __ATOMIC_RELAXED);
  __atomic_store_n(&host_memory_type.has_value, l.bytes != 0, __ATOMIC_RELAXED);
  __atomic_store_n(&host_memory_type.value, static_cast<unsigned>(l.value), __ATOMIC_RELAXED);
  host_memory_type.known.store(true, std::memory_order_release);
}

bool put_learned(const learned& l, void* data, int& result) {
  result = l.result;
  if (l.bytes > 0) std::memcpy(data, &l.value, l.bytes);
  return true;
}

bool put_host_one(int attribute, void* data, int& result) {
  const learned& l = of_one[attribute];
  if (!l.known.load(std::memory_order_acquire)) learn_one(attribute);
  return l.known.load(std::memory_order_acquire) && put_learned(l, data, result);
}

bool put_host_many(int attribute, void* data, int& result) {
  const learned& l = of_many[attribute];
  if (!l.known.load(std::memory_order_acquire)) learn_many(attribute);
  return l.known.load(std::memory_order_acquire) && put_learned(l, data, result);
}

/// The attributes that were asked for when the memory was made, in the sizes that cuda.h gives them.
bool put_cached(const allocation& found, int attribute, void* data) {
  switch (attribute) {
    case attribute_context: return put(data, found.context, 8);
    case attribute_memory_type: return put(data, found.memory_type, 4);
    case attribute_buffer_id: return put(data, found.buffer_id, 8);
    case attribute_ordinal: return put(data, static_cast<std::uint32_t>(found.ordinal), 4);
    case attribute_is_managed: {
      // Its size is not documented: as many bytes as the driver writes of memory that it does not know.
      std::uint64_t ignored = 0;
      int result = cuda_success;
      return put_host_many(attribute, &ignored, result) && of_many[attribute].bytes > 0 &&
             put(data, found.is_managed, of_many[attribute].bytes);
    }
    default: return false;
  }
}

/// By where the memory lies, which costs less than the record of its allocation.
source elide_memory_type(const thread_state& thread, void* data, std::uint64_t pointer, int& result) {
  if (!host_memory_type.known.load(std::memory_order_acquire)) learn_memory_type();
  if (!host_memory_type.known.load(std::memory_order_acquire)) return source::none;
  int memory_type = 0;
  const source from = elide_place(thread, pointer, memory_type);
  if (from == source::none) return from;
  const bool is_host = memory_type == 0;
  result = is_host ? host_memory_type.result : cuda_success;
  if (!is_host || host_memory_type.has_value)
    *static_cast<unsigned*>(data) = is_host ? host_memory_type.value : static_cast<unsigned>(memory_type);
  return from;
}

}  // namespace

source elide_attribute(const thread_state& thread, void* data, int attribute, std::uint64_t pointer, int& result) {
  if (!may_be_learned(attribute)) return source::none;
  if (attribute == attribute_memory_type) return elide_memory_type(thread, data, pointer, result);
  allocation found;
  const source from = look_up(thread, pointer, found);
  if (from == source::none) return from;
  if (from == source::cached) {
    result = cuda_success;
    return put_cached(found, attribute, data) ? from : source::none;
  }
  return put_host_one(attribute, data, result) ? from : source::none;
}

source elide_attributes(const thread_state& thread, unsigned count, const int* attributes, void** data,
                        std::uint64_t pointer, int& result) {
  allocation found;
  const source from = look_up(thread, pointer, found);
  if (from == source::none) return from;
  result = cuda_success;
  for (unsigned i = 0; i < count; ++i) {
    const int attribute = attributes[i];
    if (!may_be_learned(attribute)) return source::none;
    const bool answered =
        from == source::cached ? put_cached(found, attribute, data[i]) : put_host_many(attribute, data[i], result);
    if (!answered || result != cuda_success) return source::none;
  }
  return from;
}

source elide_place_by_cache(std::uint64_t pointer, int& memory_type) {
  const allocation_cache::answer known = live_allocations.find_memory_type(pointer, memory_type);
  if (known == allocation_cache::answer::found) return source::cached;
  return known == allocation_cache::answer::unknown_address && watch_is_complete() ? source::host : source::none;
}

}  // namespace imbrex::sessions
