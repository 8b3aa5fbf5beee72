#include "imbrex/device/cuda/cuda_device.h"

#include <thread>

#include <fmt/format.h>

#include "imbrex/async/activity.h"
#include "imbrex/device/cuda/cuda_error.h"
#include "imbrex/device/cuda/cuda_stream.h"

namespace imbrex {

namespace {
const char* holder(const executor& pe) {
  if (pe.constructing_type != nullptr) return pe.constructing_type;
  return pe.running != nullptr ? pe.running->name : "the runtime";
}
}  // namespace

void* cuda_device::allocate(std::size_t bytes, memory_kind kind) {
  slab_pool& pool = kind == memory_kind::device ? gpu_.pool() : machine_.pinned();
  return pool.allocate(bytes, holder(pe_));
}

void cuda_device::free(void* memory, std::size_t, memory_kind kind) noexcept {
  (kind == memory_kind::device ? gpu_.pool() : machine_.pinned()).free(memory);
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
  const slab_pool::usage u = (kind == memory_kind::device ? gpu_.pool() : machine_.pinned()).used();
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
  return event(std::make_shared<cuda_event>(gpu_, cuda_event::by_word_only{point}));
}

std::unique_ptr<stream> cuda_device::make_stream(stream_priority p, std::string label) {
  return std::make_unique<cuda_stream>(*this, gpu_, p, std::move(label));
}

bool cuda_device::reaches(const device& other) const {
  return other.kind() == device_kind::cuda &&
         machine_.peers(gpu_.place(), static_cast<const cuda_device&>(other).gpu_.place());
}

}  // namespace imbrex
