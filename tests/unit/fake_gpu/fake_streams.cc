// Streams, events, copies, and the two kernels of the library's own.
#include <cstring>

#include "fake_machine.h"
#include "imbrex/device/cuda/api/cuda_driver.h"
#include "imbrex/device/cuda/signals/cuda_pull.h"

using namespace fake_cuda;

namespace {

std::uint64_t load(const void* word) {
  return std::atomic_ref(*const_cast<std::uint64_t*>(static_cast<const std::uint64_t*>(word)))
      .load(std::memory_order_acquire);
}
void store(void* word, std::uint64_t value) {
  std::atomic_ref(*static_cast<std::uint64_t*>(word)).store(value, std::memory_order_release);
}

int gpu_of(cudaStream_t s) { return s == cudaStreamPerThread ? current_gpu : of(s)->gpu; }

/// One that waits, for as long as it does.
void count_waiting(int gpu, int blocks) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  int& now = m.waiting_blocks[static_cast<std::size_t>(gpu)];
  int& most = m.most_waiting_blocks[static_cast<std::size_t>(gpu)];
  now += blocks;
  most = now > most ? now : most;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* made, unsigned, int) {
  machine& m = the_machine();
  const std::lock_guard lock(m.mutex);
  m.streams.push_back(std::make_unique<fake_cuda::stream>());
  m.streams.back()->gpu = current_gpu;
  *made = reinterpret_cast<cudaStream_t>(m.streams.back().get());
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned flags) {
  return cudaStreamCreateWithPriority(made, flags, 0);
}

/// What is enqueued is still done.
cudaError_t cudaStreamDestroy(cudaStream_t s) {
  const std::lock_guard lock(of(s)->mutex);
  of(s)->destroyed = true;
  of(s)->changed.notify_all();
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t s) { return result(is_idle(*of(s)) ? cudaSuccess : cudaErrorNotReady); }

cudaError_t cudaStreamSynchronize(cudaStream_t s) {
  count_call("cudaStreamSynchronize");
  if (s == cudaStreamPerThread) return cudaSuccess;
  return result(block("cudaStreamSynchronize", [s] { return is_idle(*of(s)); }) ? cudaSuccess : cudaErrorTimeout);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned) {
  count_call("cudaStreamWaitEvent");
  const auto last = reinterpret_cast<fake_cuda::event*>(e)->last;
  if (last != nullptr) enqueue(s, [last] { return last->happened.load(); });
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus* status) {
  count_call("cudaStreamIsCapturing");
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) { return result(cudaErrorNotSupported); }
cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) { return result(cudaErrorNotSupported); }
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t function, void* data) {
  fake_cuda::launch(s, [function, data] { function(data); });
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned) {
  *made = reinterpret_cast<cudaEvent_t>(new fake_cuda::event{current_gpu, nullptr});
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* made) { return cudaEventCreateWithFlags(made, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t e) {
  delete reinterpret_cast<fake_cuda::event*>(e);
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
  count_call("cudaEventRecord");
  if (reinterpret_cast<fake_cuda::event*>(e)->gpu != gpu_of(s)) return result(cudaErrorInvalidResourceHandle);
  if (the_machine().refuses_events) return result(cudaErrorIllegalAddress);
  auto now = std::make_shared<recorded>();
  reinterpret_cast<fake_cuda::event*>(e)->last = now;
  fake_cuda::launch(s, [now] { now->happened = true; });
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t e) {
  count_call("cudaEventQuery");
  const auto& last = reinterpret_cast<fake_cuda::event*>(e)->last;
  return result(last == nullptr || last->happened ? cudaSuccess : cudaErrorNotReady);
}
cudaError_t cudaEventSynchronize(cudaEvent_t e) {
  const auto last = reinterpret_cast<fake_cuda::event*>(e)->last;
  const bool came = block("cudaEventSynchronize", [&] { return last == nullptr || last->happened; });
  return result(came ? cudaSuccess : cudaErrorTimeout);
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 0;
  return cudaSuccess;
}

/// With ordinary memory of the host, and within the host, it returns when the stream has come there, as NVIDIA's does.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind, cudaStream_t s) {
  count_call("cudaMemcpyAsync");
  fake_cuda::launch(s, [=] {
    const auto place = reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from);
    const bool is_word = bytes == sizeof(std::uint64_t) && place % sizeof(std::uint64_t) == 0;
    if (is_word) return store(to, load(from));  // which kernels may count up meanwhile
    std::memcpy(to, from, bytes);
  });
  const bool within_host = is_of_host(to) && is_of_host(from);
  if (s == cudaStreamPerThread || !(is_pageable(to) || is_pageable(from) || within_host)) return cudaSuccess;
  const bool came = block(within_host ? "cudaMemcpyAsync within the host" : "cudaMemcpyAsync of pageable memory",
                          [s] { return is_idle(*of(s)); });
  return result(came ? cudaSuccess : cudaErrorTimeout);
}
cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const std::size_t* bytes, std::size_t count,
                                 cudaMemcpyAttributes*, std::size_t*, std::size_t, cudaStream_t s) {
  for (std::size_t i = 0; i < count; ++i) {
    const cudaError_t e = cudaMemcpyAsync(to[i], from[i], bytes[i], cudaMemcpyDefault, s);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t bytes, std::size_t rows, cudaMemcpyKind, cudaStream_t s) {
  for (std::size_t i = 0; i < rows; ++i) {
    const cudaError_t e = cudaMemcpyAsync(static_cast<char*>(to) + i * to_pitch,
                                          static_cast<const char*>(from) + i * from_pitch, bytes, cudaMemcpyDefault, s);
    if (e != cudaSuccess) return e;
  }
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t s) {
  count_call("cudaMemsetAsync");
  fake_cuda::launch(s, [=] { std::memset(to, value, bytes); });
  return cudaSuccess;
}

}  // extern "C"

namespace imbrex {

namespace cuda_driver {

cudaError_t write_value(cudaStream_t s, void* word, std::uint64_t value) {
  count_call("cuStreamWriteValue64");
  if (!reaches(gpu_of(s), word)) return result(cudaErrorInvalidValue);
  fake_cuda::launch(s, [=] { store(word, value); });
  return cudaSuccess;
}
cudaError_t wait_value(cudaStream_t s, const void* word, std::uint64_t value) {
  count_call("cuStreamWaitValue64");
  if (!reaches(gpu_of(s), word)) return result(cudaErrorInvalidValue);
  enqueue(s, [=] { return load(word) >= value; });
  return cudaSuccess;
}
bool loads_kernels_early() { return true; }
void ask_to_load_kernels_early() {}

}  // namespace cuda_driver

cudaError_t cuda_pull::launch(cudaStream_t s) const {
  count_call("cudaLaunchKernel");
  const int gpu = gpu_of(s);
  for (const void* const touched : {static_cast<const void*>(to), from, static_cast<const void*>(ready)}) {
    if (touched != nullptr && !reaches(gpu, touched)) fail("a pull reads memory that its GPU does not reach");
  }
  auto counted = std::make_shared<bool>(false);
  const auto taken = static_cast<int>(this->blocks);
  enqueue(s, [p = *this, gpu, counted, taken] {
    const bool waits = p.ready != nullptr && load(p.ready) < p.ready_value && load(p.give_up) != beyond_all;
    if (waits != *counted) count_waiting(gpu, waits ? taken : -taken);
    *counted = waits;
    if (waits) return false;
    std::memcpy(p.to, p.from, p.bytes);
    if (p.word != nullptr) store(p.word, p.word_value);
    if (p.mark.flag != nullptr) store(p.mark.flag, p.mark.number);
    return true;
  });
  return cudaSuccess;
}

}  // namespace imbrex
