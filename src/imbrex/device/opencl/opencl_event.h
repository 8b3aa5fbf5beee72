#pragma once

#include <atomic>

#include "imbrex/device/event.h"
#include "imbrex/device/opencl/opencl_api.h"
#include "imbrex/device/opencl/opencl_context.h"

namespace imbrex {

/// A point in a stream of a device of OpenCL: the end of the last operation before it. While the stream stops in front
/// of that, the driver knows nothing of it: the point is told later. Other streams of its device wait for it on the
/// device. Must go before its context's machine.
class opencl_event final : public event_state {
 public:
  explicit opencl_event(const opencl_context& context) : context_(context) {}
  opencl_event(const opencl_context& context, cl_event native, bool writes_host) : context_(context) {
    set(native, writes_host);
  }
  ~opencl_event() override {
    if (const cl_event native = native_.load(); native != nullptr) clReleaseEvent(native);
  }
  opencl_event(const opencl_event&) = delete;
  opencl_event& operator=(const opencl_event&) = delete;

  /// Once at most, by its stream: the last operation before it has been enqueued, or there is none left, or the stream
  /// ends without it. `writes_host`: what is under way before it may write memory of the host.
  void set(cl_event native, bool writes_host) {
    writes_host_ = writes_host;
    clRetainEvent(native);
    native_.store(native, std::memory_order_release);
  }
  void pass() { passed_.store(true, std::memory_order_release); }

  /// Asks the driver. An operation that failed counts as complete: its own stream reports it.
  bool complete() const override {
    if (passed_.load(std::memory_order_acquire)) return true;
    const cl_event end = native();
    cl_int status = CL_COMPLETE;
    return end != nullptr &&
           (clGetEventInfo(end, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) != CL_SUCCESS ||
            status <= CL_COMPLETE);
  }
  /// Null: not enqueued yet.
  cl_event native() const { return native_.load(std::memory_order_acquire); }
  /// Once `native` is there.
  bool writes_host() const { return writes_host_; }
  const opencl_context& context() const { return context_; }

 private:
  const opencl_context& context_;
  std::atomic<cl_event> native_{nullptr};
  bool writes_host_ = false;  // published by `native_`
  std::atomic<bool> passed_{false};
};

}  // namespace imbrex
