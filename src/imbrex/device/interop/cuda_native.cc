#include "imbrex/device/interop/cuda_native.h"

#include <fmt/format.h>

#include "imbrex/device/cuda/api/cuda_error.h"
#include "imbrex/device/cuda/cuda_stream.h"

namespace imbrex {

namespace {

cuda_stream& of_gpu(stream& s, const char* what) {
  if (s.is_simulated()) {
    throw usage_error(fmt::format(
        "{} wants a stream of CUDA, but {} is one of a simulated GPU, which runs nothing: ask s.is_simulated() before, "
        "and say what it would take with s.expect and s.launched",
        what, s.label()));
  }
  if (s.on().kind() == device_kind::cuda) [[likely]]
    return static_cast<cuda_stream&>(s);
  throw usage_error(fmt::format("{} wants a stream of CUDA, but {} is one of the {} device: ask s.on().kind() before",
                                what, s.label(), to_string(s.on().kind())));
}

/// What asking leaves behind is none.
cudaError_t error_left() {
  const cudaError_t e = cudaPeekAtLastError();
  if (e == cudaErrorNotReady) static_cast<void>(cudaGetLastError());
  return e == cudaErrorNotReady ? cudaSuccess : e;
}

/// An event for one use, of the GPU that is current.
struct own_event {
  own_event() { check_cuda(cudaEventCreateWithFlags(&native, cudaEventDisableTiming), "creating an event"); }
  ~own_event() { static_cast<void>(cudaEventDestroy(native)); }
  own_event(const own_event&) = delete;
  own_event& operator=(const own_event&) = delete;
  cudaEvent_t native = nullptr;
};

/// Which GPU `other` is of is found by trying: events are recorded in streams of their own GPU. False: it is of none.
bool wait_on_another_gpu(cuda_stream& s, cudaStream_t other) {
  int n = 0;
  check_cuda(cudaGetDeviceCount(&n), "counting GPUs");
  for (int gpu = 0; gpu < n; ++gpu) {
    if (gpu == s.gpu().number()) continue;
    check_cuda(cudaSetDevice(gpu), "choosing a GPU");
    const own_event e;
    const cudaError_t status = cudaEventRecord(e.native, other);
    if (status == cudaErrorInvalidResourceHandle) {
      static_cast<void>(cudaGetLastError());
      continue;
    }
    s.check(status, "recording an event in a stream of another GPU");
    s.gpu().make_current_again();
    s.check(cudaStreamWaitEvent(s.native(), e.native, 0), "waiting for a stream of another GPU");
    return true;
  }
  return false;
}

}  // namespace

namespace detail {

native_call::native_call(stream& s, const char* name) : stream_(s), name_(name) {
  cuda_stream& at = of_gpu(s, fmt::format("'{}'", name).c_str());
  at.gpu().make_current_again();
  error_before_ = error_left();
  at.note(name, trace_category::kernel);
  native_ = at.native();
}

native_call::~native_call() {
  auto& at = static_cast<cuda_stream&>(stream_);
  try {
    at.gpu().make_current_again();  // libraries choose others
    at.noted();
  } catch (const error&) {  // a GPU that has failed: the next operation says so
  }
}

void native_call::done() {
  const cudaError_t now = error_left();
  if (now == cudaSuccess || now == error_before_) [[likely]]
    return;
  static_cast<cuda_stream&>(stream_).check(now, fmt::format("'{}', a call of another library,", name_).c_str());
}

}  // namespace detail

void wait_for(stream& s, CUevent_st* e) {
  cuda_stream& at = of_gpu(s, "waiting for an event of CUDA");
  at.gpu().make_current_again();
  at.note("wait");
  at.check(cudaStreamWaitEvent(at.native(), e, 0), "waiting for an event that is not imbrex's");
}

void record_into(stream& s, CUevent_st* e) {
  cuda_stream& at = of_gpu(s, "recording into an event of CUDA");
  at.gpu().make_current_again();
  const cudaError_t status = cudaEventRecord(e, at.native());
  if (status == cudaErrorInvalidResourceHandle) {
    static_cast<void>(cudaGetLastError());
    throw usage_error(fmt::format(
        "the event that {} should record into is not one of its GPU {}: create it while that GPU is current",
        at.label(), at.gpu().number()));
  }
  at.check(status, "recording an event that is not imbrex's");
}

void after_native(stream& s, CUstream_st* other) {
  cuda_stream& at = of_gpu(s, "waiting for a stream of CUDA");
  at.gpu().make_current_again();
  at.note("wait");
  cudaEvent_t e = at.gpu().take_event();
  cudaError_t status = cudaEventRecord(e, other);
  if (status == cudaSuccess) status = cudaStreamWaitEvent(at.native(), e, 0);
  at.gpu().give_back_event(e);
  if (status != cudaErrorInvalidResourceHandle) return at.check(status, "waiting for a stream that is not imbrex's");
  static_cast<void>(cudaGetLastError());
  bool waits = false;
  try {
    waits = wait_on_another_gpu(at, other);
  } catch (...) {
    at.gpu().make_current_again();
    throw;
  }
  at.gpu().make_current_again();
  if (!waits) throw usage_error(fmt::format("{} should wait for a stream that is none of CUDA's", at.label()));
}

void native_after(CUstream_st* other, stream& s) {
  cuda_stream& at = of_gpu(s, "letting a stream of CUDA wait");
  at.gpu().make_current_again();
  const event e = at.record();
  at.check(cudaStreamWaitEvent(other, static_cast<const cuda_event&>(*e.state()).native(), 0),
           "letting a stream that is not imbrex's wait");
}

}  // namespace imbrex
