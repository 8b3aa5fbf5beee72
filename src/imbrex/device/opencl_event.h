#pragma once

#include "imbrex/device/event.h"
#include "imbrex/device/opencl_api.h"
#include "imbrex/device/opencl_context.h"

namespace imbrex {

/// A point in a stream of a device of OpenCL: the end of the last operation before it. Streams of all devices of its
/// context wait for it on the device. Must go before its context's machine.
class opencl_event final : public event_state {
 public:
  opencl_event(const opencl_context& context, cl_event native) : context_(context), native_(native) {
    clRetainEvent(native_);
  }
  ~opencl_event() override { clReleaseEvent(native_); }
  opencl_event(const opencl_event&) = delete;
  opencl_event& operator=(const opencl_event&) = delete;

  /// Asks the driver. An operation that failed counts as complete: its own stream reports it.
  bool complete() const override {
    cl_int status = CL_COMPLETE;
    return clGetEventInfo(native_, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr) != CL_SUCCESS ||
           status <= CL_COMPLETE;
  }
  cl_event native() const { return native_; }
  const opencl_context& context() const { return context_; }

 private:
  const opencl_context& context_;
  cl_event native_;
};

}  // namespace imbrex
