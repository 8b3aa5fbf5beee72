#include "imbrex/device/cuda/cuda_device.h"

#include <thread>

#include <fmt/format.h>

#include "imbrex/async/activity.h"
#include "imbrex/device/cuda/api/cuda_driver.h"
#include "imbrex/device/cuda/api/cuda_error.h"
#include "imbrex/device/cuda/cuda_round_graph.h"
#include "imbrex/device/cuda/cuda_stream.h"
#include "imbrex/device/pool/memory_guards.h"

namespace imbrex {

void* cuda_device::allocate(std::size_t bytes, memory_kind kind) {
  if (guards() == nullptr) return pool(kind).allocate(bytes, name_of_doer(pe_));
  void* const raw = pool(kind).allocate(memory_guards::with_guards(bytes), name_of_doer(pe_));
  return guards()->put(*this, raw, bytes, kind);
}

void cuda_device::free(void* memory, std::size_t, memory_kind kind) noexcept {
  pool(kind).free(guards() == nullptr ? memory : guards()->take_off(*this, memory));
}

slab_pool& cuda_device::pool(memory_kind kind) const {
  return kind == memory_kind::device ? gpu_.pool() : machine_.pinned();
}

void* cuda_device::allocate_unpooled(std::size_t bytes) {
  gpu_.make_current();
  void* memory = nullptr;
  if (cudaMalloc(&memory, bytes) == cudaSuccess) return memory;
  static_cast<void>(cudaGetLastError());
  throw out_of_memory(name() + " has no room for " + std::to_string(bytes) + " bytes beside its pool");
}

void cuda_device::free_unpooled(void* memory) noexcept { gpu_.free_native(memory); }

memory_usage cuda_device::used(memory_kind kind) const {
  const slab_pool::usage u = pool(kind).used();
  return {u.in_use, u.high_water, u.from_source, u.source_calls};
}

void cuda_device::read_now(void* to, const void* from, std::size_t bytes, const event& e) {
  gpu_.make_current();
  if (const auto* point = dynamic_cast<const cuda_event*>(e.state().get()); point != nullptr && !point->complete()) {
    if (const std::string gate = completion_.first_closed_gate(); !gate.empty()) {
      throw device_error(fmt::format(
          "{} bytes of GPU {} were to be read at once, but what stands before them may wait for {}, which this PE has "
          "yet to run: await `done()` of the stream first",
          bytes, gpu_.number(), gate));
    }
    if (point->native() != nullptr) check_cuda(cudaEventSynchronize(point->native()), "waiting for an event");
    while (!point->complete()) std::this_thread::yield();
  }
  check_cuda(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, cudaStreamPerThread), "copying to the host");
  check_cuda(cudaStreamSynchronize(cudaStreamPerThread), "copying to the host");
}

event cuda_device::open(const shared_point& p) {
  const auto* word = reinterpret_cast<const unsigned long long*>(gpu_.shared().open(p.word));
  const cuda_word_point point{word, p.value, p.word.handle.of};
  return event(std::make_shared<cuda_event>(gpu_, stream_position(), cuda_event::by_word_only{point}));
}

// Smaller allocations may have a block of memory in common, and who opens a handle opens the whole block.
constexpr std::size_t own_block = std::size_t{2} << 20;

memory_kind cuda_device::adopt(const void* memory, std::size_t bytes) {
  if (bytes == 0) return memory_kind::device;
  gpu_.make_current_again();
  cudaPointerAttributes a{};
  if (cudaPointerGetAttributes(&a, memory) != cudaSuccess) static_cast<void>(cudaGetLastError());
  if (a.type == cudaMemoryTypeUnregistered) return memory_kind::host;
  const cuda_driver::allocation of = cuda_driver::allocation_of(memory);
  const auto* const first = static_cast<const std::byte*>(memory);
  if (of.bytes != 0 && first + bytes > of.start + of.bytes) {
    throw usage_error(
        fmt::format("{} bytes were adopted where only {} are left of an allocation of {}: adopt what was "
                    "allocated, each allocation by itself",
                    bytes, of.start + of.bytes - first, of.bytes));
  }
  adopted_memory::allocation facts{of.bytes != 0 ? of.start : first, of.bytes != 0 ? of.bytes : bytes};
  if (a.type == cudaMemoryTypeHost) {
    facts.kind = memory_kind::pinned;
  } else {
    facts.kind = memory_kind::device;
    facts.gpu = gpu_.number();
    facts.is_staged = a.type != cudaMemoryTypeDevice || !of.is_shareable;
    facts.is_shareable = !facts.is_staged && of.bytes >= own_block;
  }
  if (a.type == cudaMemoryTypeDevice) {
    if (a.device != gpu_.number()) {
      throw usage_error(
          fmt::format("memory of GPU {} was adopted for GPU {}: name the device that it lies on (rt.gpu(i))", a.device,
                      gpu_.number()));
    }
    if (of.pool != nullptr) let_others_reach(of.pool);
  }
  machine_.adopted().add(first, bytes, facts);
  return facts.kind;
}

// Memory of a pool is reached by those alone whom the pool was told of, whatever cudaDeviceEnablePeerAccess was asked.
void cuda_device::let_others_reach(cudaMemPool_t pool) const {
  for (int i = 0; i < machine_.num_gpus(); ++i) {
    if (i == gpu_.place() || !machine_.peers(i, gpu_.place())) continue;
    cudaMemAccessDesc wanted{};
    wanted.location.type = cudaMemLocationTypeDevice;
    wanted.location.id = machine_.gpu(i).number();
    wanted.flags = cudaMemAccessFlagsProtReadWrite;
    if (const cudaError_t status = cudaMemPoolSetAccess(pool, &wanted, 1); status != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      throw usage_error(fmt::format(
          "memory of a pool of GPU {} was adopted that GPU {} of this process cannot be let reach ({}): allocate it by "
          "cudaMalloc, from a pool that may be shared so, or give the process one GPU (--imbrex-gpus=1)",
          gpu_.number(), machine_.gpu(i).number(), cuda_error_text(status)));
    }
  }
}

void cuda_device::let_go(const void* memory, std::size_t bytes) noexcept {
  const adopted_memory::allocation gone = machine_.adopted().remove(static_cast<const std::byte*>(memory), bytes);
  if (!gone.is_shareable) return;
  for (int i = 0; i < machine_.num_gpus(); ++i) {
    if (machine_.gpu(i).number() == gone.gpu) machine_.gpu(i).forget(gone.start);
  }
}

std::unique_ptr<stream> cuda_device::make_stream(stream_priority p, std::string label) {
  return std::make_unique<cuda_stream>(*this, gpu_, p, std::move(label));
}

std::unique_ptr<graph> cuda_device::graph_of_rounds(const recorded_rounds& r, const std::vector<std::size_t>& order) {
  return cuda_round_graph::of(r, order);
}

bool cuda_device::reaches(const device& other) const {
  return other.kind() == device_kind::cuda &&
         machine_.peers(gpu_.place(), static_cast<const cuda_device&>(other).gpu_.place());
}

}  // namespace imbrex
