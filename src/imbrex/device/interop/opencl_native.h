#pragma once

#include <concepts>
#include <functional>
#include <utility>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"

/// Other libraries' calls in streams of devices of OpenCL. Needs no header of OpenCL: `_cl_command_queue*` is what it
/// calls `cl_command_queue`. Where imbrex was built without OpenCL it compiles, and throws `not_built`.
struct _cl_command_queue;

namespace imbrex {

class stream;

namespace detail {
#if IMBREX_HAVE_OPENCL
void enqueue_in_queue(stream& s, const char* name, std::function<void(_cl_command_queue*)> f);
#else
[[noreturn]] inline void enqueue_in_queue(stream&, const char*, const std::function<void(_cl_command_queue*)>&) {
  throw not_built("this imbrex was built without OpenCL, so that it has no queues of OpenCL: " IMBREX_NOTE_OPENCL);
}
#endif
}  // namespace detail

/// Calls `f(cl_command_queue)` on this PE's thread with the in-order queue of `s`: at once, or, where the stream stops
/// before (at a function of the host, or for another device), when it has come there, so that `f` is copied and keeps
/// what it needs. What `f` enqueues without waiting runs after all that was enqueued on `s` before and before all that
/// comes later; `co_await s.done()` and events see it, and failures name it `name`, which has static lifetime. `f` must
/// not keep the queue. Memory of a `buffer` is shared virtual memory to OpenCL (`clSetKernelArgSVMPointer`).
/// Throws `usage_error` when `s` is not of a device of OpenCL (ask `s.on().kind()`).
template <class F>
  requires std::invocable<F&, _cl_command_queue*>
void enqueue_native(stream& s, const char* name, F f) {
  detail::enqueue_in_queue(s, name, std::move(f));
}

}  // namespace imbrex
