#include "driver/kind_query.h"

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "driver/driver.h"

namespace imbrex::sessions {

namespace {

constexpr int num_pages = 64;
constexpr int page_bytes = 4096;
char pages[num_pages * page_bytes];  // ordinary host memory

/// The least of some passes: what comes between makes it longer, never shorter.
double ns_of_query(get_attribute* ask, std::uint64_t begin, std::uint64_t step) {
  double least = 1e99;
  for (int pass = 0; pass < 7; ++pass) {
    const double start = seconds_now();
    for (std::uint64_t i = 0; i < num_pages; ++i) {
      unsigned memory_type = 0;
      ask(&memory_type, attribute_memory_type, begin + i * step);
    }
    least = std::fmin(least, (seconds_now() - start) * 1e9 / num_pages);
  }
  return least;
}

}  // namespace

memory_kind kind_of(const void* address) {
  auto* ask = driver_function_as<get_attribute>(driver_cuPointerGetAttribute);
  const auto pointer = reinterpret_cast<std::uint64_t>(address);
  unsigned memory_type = 0;
  if (ask == nullptr || ask(&memory_type, attribute_memory_type, pointer) != cuda_success) return memory_kind::host;
  std::uint64_t managed = 0;
  if (ask(&managed, attribute_is_managed, pointer) == cuda_success && (managed & 0xFF) != 0)
    return memory_kind::managed;
  if (memory_type == memory_device) return memory_kind::device;
  return memory_type == memory_host ? memory_kind::pinned : memory_kind::host;
}

query_cost measure_query_cost() {
  query_cost cost;
  auto* ask = driver_function_as<get_attribute>(driver_cuPointerGetAttribute);
  if (ask == nullptr) return cost;
  cost.host_ns = ns_of_query(ask, reinterpret_cast<std::uint64_t>(pages), page_bytes);
  auto* make = driver_function_as<int(std::uint64_t*, std::size_t)>(driver_cuMemAlloc_v2);
  auto* free_it = driver_function_as<int(std::uint64_t)>(driver_cuMemFree_v2);
  std::uint64_t memory = 0;
  if (make == nullptr || free_it == nullptr || make(&memory, sizeof pages) != cuda_success) return cost;
  cost.device_ns = ns_of_query(ask, memory, page_bytes);
  free_it(memory);
  return cost;
}

}  // namespace imbrex::sessions
