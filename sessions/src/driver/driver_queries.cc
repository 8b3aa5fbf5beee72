#include "driver/driver_queries.h"

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "base/clock.h"
#include "base/settings.h"
#include "driver/driver.h"
#include "driver/driver_watch.h"
#include "driver/elision.h"
#include "routines/symbols.h"

namespace imbrex::sessions {

declaration default_declaration;
extern unsigned modes_in_use __attribute__((visibility("hidden")));

namespace {

std::uint64_t delay_ticks = 0;
std::uint64_t overhead_ticks = 0;  ///< of a wait of no length
bool asks_driver = false;          ///< inject asks the driver
query_cost in_loop;

void wait_instead(routine_counts& counts) {
  const std::uint64_t begin = ticks_now();
  std::uint64_t now = begin;
  while (now - begin < delay_ticks) now = ticks_now();
  counts.ticks += now - begin + overhead_ticks;
}

/// Looking at the clock takes its time too (much of it in some virtual machines): the wait is so much shorter.
void calibrate_delay(double wanted_ns) {
  constexpr int num_waits = 2000;
  const double tick = ns_per_tick();
  const auto wanted = static_cast<std::uint64_t>(wanted_ns / tick);
  double least = 1e99;
  routine_counts ignored;
  delay_ticks = 0;
  for (int batch = 0; batch < 5; ++batch) {
    const double begin = seconds_now();
    for (int i = 0; i < num_waits; ++i) wait_instead(ignored);
    least = std::fmin(least, (seconds_now() - begin) * 1e9 / num_waits);
  }
  overhead_ticks = static_cast<std::uint64_t>(least / tick);
  // On average the wait ends half a look at the clock too late.
  const std::uint64_t spent = overhead_ticks + overhead_ticks / 2;
  delay_ticks = wanted > spent ? wanted - spent : 0;
}

template <class Ask>
int ask_and_time(routine_counts& counts, Ask ask) {
  const std::uint64_t begin = ticks_now();
  const int result = ask();
  counts.ticks += ticks_now() - begin;
  return result;
}

void count_elided(routine_counts& counts, source from) {
  switch (from) {
    case source::declared: ++counts.declared; break;
    case source::cached: ++counts.cached; break;
    case source::host: ++counts.host; break;
    case source::none: break;
  }
}

const char* name_of(source from) {
  constexpr const char* names[] = {"nobody", "the declaration", "the cache of allocations", "the cache (host memory)"};
  return names[static_cast<int>(from)];
}

/// A declared answer must agree in where the memory is; one from the cache, in every byte.
void compare(source from, int attribute, std::uint64_t pointer, int result, std::uint64_t value, int true_result,
             std::uint64_t true_value) {
  const bool on_device = result == cuda_success && value == memory_device;  // of a declaration
  const bool differs = from == source::declared ? on_device != (place_by_driver(pointer) == place::device)
                                                : result != true_result || (result == 0 && value != true_value);
  if (!differs) return;
  give_up("%s: attribute %d of pointer %#llx: %s answered %d, value %#llx; the driver says %d, value %#llx",
          name_of(here.routine), attribute, static_cast<unsigned long long>(pointer), name_of(from), result,
          static_cast<unsigned long long>(value), true_result, static_cast<unsigned long long>(true_value));
}

void verify_attribute(source from, int attribute, std::uint64_t pointer, int result, const void* data) {
  auto* ask = driver_function_as<get_attribute>(driver_cuPointerGetAttribute);
  std::uint64_t true_value = 0;
  const int true_result = ask(&true_value, attribute, pointer);
  std::uint64_t value = 0;
  const bool is_long = attribute == attribute_context || attribute == attribute_buffer_id;
  const std::size_t bytes = attribute == attribute_is_managed ? 1 : is_long ? 8 : 4;
  if (result == cuda_success) std::memcpy(&value, data, bytes);
  compare(from, attribute, pointer, result, value, true_result, true_value);
}

void verify_attributes(source from, unsigned count, int* attributes, void** data, std::uint64_t pointer) {
  auto* ask = driver_function_as<get_attributes>(driver_cuPointerGetAttributes);
  for (unsigned i = 0; i < count; ++i) {
    std::uint64_t true_value = 0;
    void* places[] = {&true_value};
    const int true_result = ask(1, &attributes[i], places, pointer);
    std::uint64_t value = 0;
    const bool is_long = attributes[i] == attribute_context || attributes[i] == attribute_buffer_id;
    const std::size_t bytes = attributes[i] == attribute_is_managed ? 1 : is_long ? 8 : 4;
    std::memcpy(&value, data[i], bytes);
    compare(from, attributes[i], pointer, cuda_success, value, true_result, true_value);
  }
}

/// The commonest query, by a few instructions and no call: the memory type of a buffer that was declared, or of any in
/// a process whose driver never allocated memory.
bool elide_at_once(void* data, int attribute, std::uint64_t pointer, int& result) {
  if (attribute != attribute_memory_type || (modes_in_use & (mode_elide | mode_verify)) != mode_elide) return false;
  const place declared = declared_place(here, pointer);
  const bool known = declared != place::unknown || (live_allocations.is_unused() && watch_is_complete());
  if (!known || here.counts == nullptr || !host_memory_type.known.load(std::memory_order_acquire)) return false;
  routine_counts& counts = here.counts[here.routine];
  ++counts.queries;
  ++(declared == place::unknown ? counts.host : counts.declared);
  const bool on_device = declared == place::device;
  result = on_device ? cuda_success : host_memory_type.result;
  if (on_device || host_memory_type.has_value)
    *static_cast<unsigned*>(data) = on_device ? memory_device : host_memory_type.value;
  return true;
}

/// The others. Not inlined, so that elide_at_once has no registers to save.
[[gnu::noinline]] int query_further(void* data, int attribute, std::uint64_t pointer) {
  auto* ask = driver_function_as<get_attribute>(driver_cuPointerGetAttribute);
  if (ask == nullptr) return cuda_not_initialized;
  if (modes_in_use == 0) return ask(data, attribute, pointer);
  routine_counts& counts = counts_here(here.routine);
  ++counts.queries;
  if ((modes_in_use & mode_elide) != 0) {
    int result = 0;
    const source from = elide_attribute(here, data, attribute, pointer, result);
    if (from != source::none) {
      count_elided(counts, from);
      if ((modes_in_use & mode_verify) != 0) verify_attribute(from, attribute, pointer, result, data);
      return result;
    }
  }
  return ask_and_time(counts, [=] { return ask(data, attribute, pointer); });
}

int query_attribute(void* data, int attribute, std::uint64_t pointer) {
  int elided = 0;
  if (elide_at_once(data, attribute, pointer, elided)) [[likely]]
    return elided;
  return query_further(data, attribute, pointer);
}

int query_attributes(unsigned count, int* attributes, void** data, std::uint64_t pointer) {
  auto* ask = driver_function_as<get_attributes>(driver_cuPointerGetAttributes);
  if (ask == nullptr) return cuda_not_initialized;
  if (modes_in_use == 0) return ask(count, attributes, data, pointer);
  routine_counts& counts = counts_here(here.routine);
  ++counts.queries;
  if ((modes_in_use & mode_elide) != 0) {
    int result = 0;
    const source from = elide_attributes(here, count, attributes, data, pointer, result);
    if (from != source::none) {
      count_elided(counts, from);
      if ((modes_in_use & mode_verify) != 0) verify_attributes(from, count, attributes, data, pointer);
      return result;
    }
  }
  return ask_and_time(counts, [=] { return ask(count, attributes, data, pointer); });
}

/// A context as the paper had it, made at the start. A program that has one keeps it.
bool make_context() {
  auto* init = reinterpret_cast<int (*)(unsigned)>(other_driver_function("cuInit"));
  auto* current = reinterpret_cast<int (*)(void**)>(other_driver_function("cuCtxGetCurrent"));
  auto* retain = reinterpret_cast<int (*)(void**, int)>(other_driver_function("cuDevicePrimaryCtxRetain"));
  auto* set = reinterpret_cast<int (*)(void*)>(other_driver_function("cuCtxSetCurrent"));
  void* context = nullptr;
  if (init == nullptr || init(0) != cuda_success) return false;
  if (current != nullptr && current(&context) == cuda_success && context != nullptr) return true;
  return retain != nullptr && set != nullptr && retain(&context, 0) == cuda_success && set(context) == cuda_success;
}

bool is_first_rank() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    const char* rank = std::getenv(variable);
    if (rank != nullptr) return std::strcmp(rank, "0") == 0;
  }
  return true;
}

void answer_injected(routine_counts& counts, std::uint64_t pointer) {
  if ((modes_in_use & mode_elide) != 0) {
    int memory_type = 0;
    const source from = elide_place(here, pointer, memory_type);
    if (from != source::none) {
      count_elided(counts, from);
      return;
    }
  }
  wait_instead(counts);
}

}  // namespace

void start_injecting() {
  static std::atomic<bool> done{false};
  if ((modes_in_use & mode_inject) == 0 || done.exchange(true)) return;
  const settings& s = current_settings();
  if (s.has_delay) {
    calibrate_delay(static_cast<double>(s.delay_ns));
    return;
  }
  asks_driver = load_driver() && make_context();
  if (!asks_driver && is_first_rank()) {
    complain(
        "inject: there is no driver with a device here (libcuda.so.1), so queries cost nothing; "
        "set IMBREX_SESSIONS_DELAY_NS to put a delay in its place");
  }
  if (asks_driver && (modes_in_use & mode_kinds) != 0) in_loop = measure_query_cost();
}

query_cost cost_in_loop() { return in_loop; }

namespace {

[[gnu::noinline]] void inject_further(std::uint64_t pointer) {
  routine_counts& counts = counts_here(here.routine);
  ++counts.injected;
  if (asks_driver) {
    unsigned memory_type = 0;
    query_further(&memory_type, attribute_memory_type, pointer);
    return;
  }
  ++counts.queries;
  answer_injected(counts, pointer);
}

}  // namespace

void inject_query(const void* buffer) {
  const auto pointer = reinterpret_cast<std::uint64_t>(buffer);
  unsigned memory_type = 0;
  int result = 0;
  if (asks_driver && elide_at_once(&memory_type, attribute_memory_type, pointer, result)) [[likely]]
    ++here.counts[here.routine].injected;
  else
    inject_further(pointer);
}

place place_by_driver(std::uint64_t address) {
  auto* ask = driver_function_as<get_attribute>(driver_cuPointerGetAttribute);
  unsigned memory_type = 0;
  if (ask == nullptr || ask(&memory_type, attribute_memory_type, address) != cuda_success) return place::host;
  return memory_type == memory_device ? place::device : place::host;
}

place place_of(const void* address) {
  const auto pointer = reinterpret_cast<std::uint64_t>(address);
  int memory_type = 0;
  switch (live_allocations.find_memory_type(pointer, memory_type)) {
    case allocation_cache::answer::found:
      return memory_type == static_cast<int>(memory_device) ? place::device : place::host;
    case allocation_cache::answer::unknown_address:
      if (watch_is_complete()) return place::host;
      break;
    case allocation_cache::answer::unsure: break;
  }
  return place_by_driver(pointer);
}

memory_range range_of(const void* address) {
  const auto pointer = reinterpret_cast<std::uint64_t>(address);
  allocation known;
  if (live_allocations.find(pointer, known) == allocation_cache::answer::found) return {known.start, known.end};
  auto* ask = driver_function_as<get_attribute>(driver_cuPointerGetAttribute);
  std::uint64_t start = 0;
  std::size_t bytes = 0;
  if (ask == nullptr || ask(&start, attribute_range_start, pointer) != cuda_success ||
      ask(&bytes, attribute_range_size, pointer) != cuda_success || bytes == 0) {
    return {};
  }
  return {start, start + bytes};
}

bool copies_are_synchronous(const void* address) {
  allocation known;
  const auto pointer = reinterpret_cast<std::uint64_t>(address);
  return live_allocations.find(pointer, known) == allocation_cache::answer::found && known.copies_are_synchronous != 0;
}

void check_noted() {
  for (int i = 0; i < here.num_noted; ++i) {
    const noted_buffer& noted = here.noted[i];
    const place true_place = place_by_driver(reinterpret_cast<std::uint64_t>(noted.address));
    if (true_place == noted.where) continue;
    give_up("%s: buffer %p is %s memory, but its session or communicator was declared for %s memory",
            name_of(here.routine), noted.address, name_of(true_place), name_of(noted.where));
  }
}

}  // namespace imbrex::sessions

using namespace imbrex::sessions;  // NOLINT: what follows are C functions

extern "C" {
#pragma GCC visibility push(default)

int cuPointerGetAttribute(void* data, int attribute, std::uint64_t pointer) {
  return query_attribute(data, attribute, pointer);
}

int cuPointerGetAttributes(unsigned count, int* attributes, void** data, std::uint64_t pointer) {
  return query_attributes(count, attributes, data, pointer);
}

/// The runtime asks the driver in turn, and is counted there; where it does not, it counts as a query itself.
int cudaPointerGetAttributes(void* attributes, const void* pointer) {
  using type = int(void*, const void*);
  static type* const ask = reinterpret_cast<type*>(next_symbol("cudaPointerGetAttributes"));
  if (ask == nullptr) return cuda_not_initialized;
  if (modes_in_use == 0) return ask(attributes, pointer);
  routine_counts& counts = counts_here(here.routine);
  const std::uint64_t before = counts.queries;
  const std::uint64_t begin = ticks_now();
  const int result = ask(attributes, pointer);
  if (counts.queries == before) {
    ++counts.queries;
    counts.ticks += ticks_now() - begin;
  }
  return result;
}

#pragma GCC visibility pop
}
