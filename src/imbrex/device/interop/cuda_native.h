#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"

/// Other libraries' calls in streams of GPUs, and streams and events of CUDA that are not imbrex's. Needs no header of
/// CUDA: `CUstream_st*` is what CUDA calls `cudaStream_t`, `CUevent_st*` is `cudaEvent_t`. Where imbrex was built
/// without CUDA all of it compiles, and throws `not_built`.
struct CUstream_st;
struct CUevent_st;

namespace imbrex {

class stream;

namespace detail {

/// One call of another library into a stream of a GPU.
class native_call {
 public:
  /// Counts one more operation of the stream. Throws `usage_error` when that is not of CUDA.
  native_call(stream& s, const char* name);
  ~native_call();
  native_call(const native_call&) = delete;
  native_call& operator=(const native_call&) = delete;
  CUstream_st* native() const { return native_; }
  /// Throws `device_error` when the call left an error of CUDA behind.
  void done();

 private:
  stream& stream_;
  const char* name_;
  CUstream_st* native_ = nullptr;
  int error_before_ = 0;
};

}  // namespace detail

/// Calls `f(cudaStream_t)` at once, on this PE's thread, with the GPU of `s` current, and gives what it returns. What
/// `f` enqueues into that stream runs after all that was enqueued on `s` before and before all that comes later, and is
/// a part of `s` like any kernel: `co_await s.done()`, events, channels, graphs that are being captured, traces and
/// reports of failures see it, under `name`, which has static lifetime. Works in a function of a task that takes a
/// `stream&`, too.
///
///     ix::enqueue_native(s, "dgemm", [&](cudaStream_t native) {
///       check(cublasSetStream(handle, native));
///       check(cublasDgemm(handle, ...));
///     });
///
/// `f` must not wait for a GPU, as what makes handles, plans and workspaces may do: make them before. All that it uses
/// lives until it has run on the GPU. `f` enqueues into this stream or joins others to it by events, and calls nothing
/// of `s` itself. An exception of `f` goes on to the caller; what `f` had enqueued until then stays enqueued. Throws
/// `usage_error` when `s` is not of a GPU (ask `s.on().kind()`), and `device_error`, naming the call, the stream and
/// the GPU, when `f` leaves an error of CUDA behind that was not there before.
template <class F>
  requires std::invocable<F&, CUstream_st*>
auto enqueue_native(stream& s, const char* name, F&& f) -> std::invoke_result_t<F&, CUstream_st*> {
  detail::native_call call(s, name);
  if constexpr (std::is_void_v<std::invoke_result_t<F&, CUstream_st*>>) {
    f(call.native());
    call.done();
  } else {
    std::invoke_result_t<F&, CUstream_st*> result = f(call.native());
    call.done();
    return result;
  }
}

/// \name Order between a stream `s` of a GPU and what is not imbrex's. No host waits; all work while `s` is captured,
/// as CUDA's own do. Throw `usage_error` when `s` is not of a GPU, and `device_error` for what CUDA refuses.
///@{
/// What is enqueued on `s` from now on runs after what was recorded in `e` last, on whatever GPU.
void wait_for(stream& s, CUevent_st* e);
/// Records in `e`, an event of the GPU of `s`, the point after all that is enqueued on `s` now.
void record_into(stream& s, CUevent_st* e);
/// What is enqueued on `s` from now on runs after what is in `other` now, a stream of whatever GPU; null, or
/// `cudaStreamPerThread`, is that of the GPU of `s`. To await another stream: this, then `co_await s.done()`.
void after_native(stream& s, CUstream_st* other);
/// What is put into `other` from now on runs after what is enqueued on `s` now.
void native_after(CUstream_st* other, stream& s);
///@}

#if !IMBREX_HAVE_CUDA
namespace detail {
[[noreturn]] inline void refuse_native() {
  throw not_built("this imbrex was built without CUDA, so that it has no streams of CUDA: " IMBREX_NOTE_CUDA);
}
inline native_call::native_call(stream& s, const char* name) : stream_(s), name_(name) { refuse_native(); }
inline native_call::~native_call() = default;
inline void native_call::done() {
  static_cast<void>(stream_), static_cast<void>(name_), static_cast<void>(error_before_);
}
}  // namespace detail
inline void wait_for(stream&, CUevent_st*) { detail::refuse_native(); }
inline void record_into(stream&, CUevent_st*) { detail::refuse_native(); }
inline void after_native(stream&, CUstream_st*) { detail::refuse_native(); }
inline void native_after(CUstream_st*, stream&) { detail::refuse_native(); }
#endif

}  // namespace imbrex
