#include "imbrex/virtual_time/gpu/simulated_device.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "imbrex/async/activity.h"
#include "imbrex/virtual_time/gpu/simulated_point.h"
#include "imbrex/virtual_time/gpu/simulated_stream.h"

namespace imbrex {

memory_info simulated_device::memory() const {
  const machine::gpu_part& g = cluster_.description().gpu;
  return {static_cast<std::uint64_t>(g.memory_gb * 1e9), gpu_.free_bytes(), g.memory_gbs * 1e9};
}

void* simulated_device::allocate(std::size_t bytes, memory_kind kind) {
  return pool_of(kind).allocate(bytes, name_of_doer(pe_));
}

void simulated_device::free(void* memory, std::size_t, memory_kind kind) noexcept { pool_of(kind).free(memory); }

memory_usage simulated_device::used(memory_kind kind) const {
  const slab_pool::usage u = pool_of(kind).used();
  return {u.in_use, u.high_water, u.from_source, u.source_calls};
}

// There is nothing to wait for with: the host cannot stop in virtual time. What has not ended is read as it is.
void simulated_device::read_now(void* to, const void* from, std::size_t bytes, const event&) {
  const ghost_memory& memory = cluster_.memory();
  if (memory.contains(from)) {
    std::memset(to, 0, bytes);
  } else if (!memory.contains(to)) {
    std::memcpy(to, from, bytes);
  }
}

bool simulated_device::share(const void* memory, shared_memory& as) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  as.handle.size = sizeof address;
  std::memcpy(as.handle.bytes.data(), &address, sizeof address);
  as.handle.of = static_cast<std::uint64_t>(gpu_.number());
  as.handle.allocation = address;
  as.offset = 0;
  return true;
}

const std::byte* simulated_device::open(const shared_memory& m) {
  std::uintptr_t address = 0;
  std::memcpy(&address, m.handle.bytes.data(), sizeof address);
  return reinterpret_cast<const std::byte*>(address) + m.offset;
}

event simulated_device::open(const shared_point& p) { return event(cluster_.take_shared(p.value)); }

memory_kind simulated_device::adopt(const void* memory, std::size_t) { return cluster_.memory().of(memory).kind; }

std::unique_ptr<stream> simulated_device::make_stream(stream_priority p, std::string label) {
  return std::make_unique<simulated_stream>(*this, p, std::move(label));
}

bool simulated_device::reaches(const device& other) const {
  const auto* const theirs = dynamic_cast<const simulated_device*>(&other);
  return theirs != nullptr && theirs->gpu_.node() == gpu_.node();
}

}  // namespace imbrex
