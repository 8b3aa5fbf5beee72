#include "imbrex/device/opencl_stream.h"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "imbrex/base/error.h"
#include "imbrex/device/opencl_error.h"
#include "imbrex/device/opencl_kernels.h"

namespace imbrex {

opencl_stream::opencl_stream(opencl_device& d, stream_priority p, std::string label)
    : stream(std::move(label)), device_(d), priority_(p) {}

opencl_stream::~opencl_stream() {
  open_gates();
  finish();
  device_.completion().detach(*this);
  while (first_ != nullptr) {
    stream_operation* op = first_;
    first_ = op->next;
    op->act(op, work_action::discard);
  }
  for (const operation& op : under_way_) clReleaseEvent(op.end);
  if (queue_ != nullptr) clReleaseCommandQueue(queue_);
}

cl_command_queue opencl_stream::queue() {
  if (queue_ == nullptr) [[unlikely]]
    queue_ = device_.processor().make_queue(priority_);
  return queue_;
}

std::string opencl_stream::place() const { return fmt::format("{}, on {}", label(), device_.processor().full_name()); }

// ------------------------------------------------------------------------------------------------ operations

void opencl_stream::add(cl_int status, const char* name, cl_event end) {
  if (status != CL_SUCCESS) [[unlikely]]
    throw device_error(fmt::format("{} in {}: {}", name, place(), opencl_error_text(status)));
  under_way_.push_back({name, end});
  ++enqueued_;
  flushed_ = false;
  device_.completion().busy(*this);
}

/// Memory of another platform looks like the host's to this one.
void opencl_stream::check_reachable(const void* memory) const {
  if (device_.machine().belongs_elsewhere(memory, device_.processor().context())) {
    throw usage_error(
        fmt::format("{} does not reach memory of another platform of OpenCL: copy by way of the host", place()));
  }
}

void opencl_stream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  check_reachable(to);
  check_reachable(from);
  cl_event end = nullptr;
  const cl_int status = clEnqueueSVMMemcpy(queue(), CL_FALSE, to, from, bytes, 0, nullptr, &end);
  add(status, "copying", end);
}

void opencl_stream::fill(void* to, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  check_reachable(to);
  if (!device_.processor().context().has(to)) {
    launch("fill", [to, value, bytes] { std::memset(to, value, bytes); });
    return;
  }
  // The longest pattern that fits: drivers write as many bytes at once.
  unsigned char pattern[16];
  std::memset(pattern, value, sizeof pattern);
  std::size_t size = sizeof pattern;
  while ((reinterpret_cast<std::uintptr_t>(to) | bytes) % size != 0) size /= 2;
  cl_event end = nullptr;
  const cl_int status = clEnqueueSVMMemFill(queue(), to, pattern, size, bytes, 0, nullptr, &end);
  add(status, "filling memory", end);
}

event opencl_stream::record() {
  if (under_way_.empty()) return event();  // already past it
  if (last_point_ == nullptr || last_point_at_ != enqueued_) {
    last_point_ = std::make_shared<opencl_event>(device_.processor().context(), under_way_.back().end);
    last_point_at_ = enqueued_;
  }
  flush();  // before others may wait for it
  return event(last_point_);
}

void opencl_stream::wait(const event& e) {
  if (e.state() == nullptr || e.state() == last_point_ || e.complete()) return;
  const auto* point = dynamic_cast<const opencl_event*>(e.state().get());
  if (point == nullptr || &point->context() != &device_.processor().context()) {
    throw usage_error(
        fmt::format("{} cannot wait for a stream of another kind of device or another platform: await "
                    "`done()` of the other stream first",
                    place()));
  }
  const cl_event first = point->native();
  cl_event end = nullptr;
  const cl_int status = clEnqueueBarrierWithWaitList(queue(), 1, &first, &end);
  add(status, "waiting for an event", end);
}

std::unique_ptr<graph> opencl_stream::capture(const std::function<void()>&) {
  throw usage_error(label() + ": OpenCL has no graphs; enqueue the operations themselves");
}

// ------------------------------------------------------------------------------------------------ kernels

void opencl_stream::set_arguments(const opencl_kernel& k, std::size_t local_bytes,
                                  std::span<const opencl_argument> arguments) const {
  const bool one_more = arguments.size() + 1 == k.num_arguments && local_bytes > 0;
  if (arguments.size() != k.num_arguments && !one_more) {
    throw usage_error(fmt::format("kernel '{}' has {} arguments, but was given {}, in {}", k.name, k.num_arguments,
                                  arguments.size(), place()));
  }
  cl_uint i = 0;
  for (const opencl_argument& a : arguments) {
    cl_int status = CL_SUCCESS;
    switch (a.what) {
      case opencl_argument::kind::pointer:
        if (a.data != nullptr && !device_.processor().context().has(a.data)) {
          throw usage_error(
              fmt::format("argument {} of kernel '{}' points to memory that was not allocated by {}, or "
                          "not as its own: copy it to a buffer of the device",
                          i, k.name, device_.processor().full_name()));
        }
        status = clSetKernelArgSVMPointer(k.native, i, a.data);
        break;
      case opencl_argument::kind::value: status = clSetKernelArg(k.native, i, a.size, a.data); break;
      case opencl_argument::kind::local: status = clSetKernelArg(k.native, i, a.size, nullptr); break;
    }
    if (status != CL_SUCCESS) {
      throw usage_error(fmt::format("argument {} of kernel '{}', of {} bytes, does not fit: {}", i, k.name, a.size,
                                    opencl_error_text(status)));
    }
    ++i;
  }
  if (one_more) check_opencl(clSetKernelArg(k.native, i, local_bytes, nullptr), "setting a kernel's local memory");
}

void opencl_stream::launch_program_kernel(const char* source, const char* options, const char* kernel_name,
                                          const std::array<unsigned, 3>& groups, const std::array<unsigned, 3>& group,
                                          std::size_t local_bytes, std::span<const opencl_argument> arguments) {
  const opencl_kernel& k = device_.kernels().get(source, options, kernel_name);
  set_arguments(k, local_bytes, arguments);
  std::size_t all[3], each[3];
  for (std::size_t d = 0; d < 3; ++d) {
    each[d] = group[d];
    all[d] = std::size_t{groups[d]} * group[d];
  }
  cl_event end = nullptr;
  const cl_int status = clEnqueueNDRangeKernel(queue(), k.native, 3, nullptr, all, each, 0, nullptr, &end);
  if (status != CL_SUCCESS) [[unlikely]] {
    throw device_error(
        fmt::format("launching kernel '{}' with {} x {} x {} groups of {} x {} x {} work items and {} bytes of local "
                    "memory in {}: {}",
                    k.name, groups[0], groups[1], groups[2], group[0], group[1], group[2], local_bytes, place(),
                    opencl_error_text(status)));
  }
  add(status, k.name.c_str(), end);
}

// ------------------------------------------------------------------------------------------------ completion

void opencl_stream::flush() const {
  if (flushed_) return;
  flushed_ = true;
  check_opencl(clFlush(queue_), "starting what was enqueued");
}

void opencl_stream::refresh() const {
  flush();
  while (!under_way_.empty()) {
    const operation op = under_way_.front();
    cl_int status = CL_COMPLETE;
    cl_int asked = clGetEventInfo(op.end, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    if (asked == CL_SUCCESS && status > CL_COMPLETE) return;
    clReleaseEvent(op.end);
    under_way_.pop_front();
    ++completed_;
    if (asked == CL_SUCCESS) asked = status;
    if (asked == CL_SUCCESS) continue;
    throw device_error(fmt::format("'{}' in {} failed: {}", op.name, place(), opencl_error_text(asked)));
  }
}

bool opencl_stream::idle() const {
  refresh();
  return under_way_.empty() && first_ == nullptr;
}

void opencl_stream::run_reached() {
  while (first_ != nullptr && first_->number <= completed_) {
    stream_operation* op = first_;
    first_ = op->next;
    if (first_ == nullptr) last_ = nullptr;
    const bool gated = op->is_kernel;
    op->act(op, work_action::run);
    if (!gated || gates_.empty()) continue;
    const cl_event gate = gates_.front();
    gates_.pop_front();
    clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(gate);
  }
}

bool opencl_stream::advance() {
  refresh();
  run_reached();
  return under_way_.empty() && first_ == nullptr;
}

void opencl_stream::enqueue(stream_operation* op) {
  op->next = nullptr;
  op->number = enqueued_;
  if (idle()) {
    op->act(op, work_action::run);
    return;
  }
  (last_ != nullptr ? last_->next : first_) = op;
  last_ = op;
  device_.completion().busy(*this);
  if (!op->is_kernel) return;
  // What is enqueued later waits for the function: the stream stops at an event that the PE sets.
  cl_int status = CL_SUCCESS;
  const cl_event gate = clCreateUserEvent(device_.processor().context().native(), &status);
  check_opencl(status, "making an event for a function of the host");
  gates_.push_back(gate);
  cl_event end = nullptr;
  status = clEnqueueBarrierWithWaitList(queue(), 1, &gate, &end);
  add(status, op->name, end);
}

void opencl_stream::open_gates() noexcept {
  for (const cl_event gate : gates_) {
    clSetUserEventStatus(gate, CL_COMPLETE);
    clReleaseEvent(gate);
  }
  gates_.clear();
}

void opencl_stream::finish() noexcept {
  if (queue_ != nullptr) clFinish(queue_);
  for (const operation& op : under_way_) clReleaseEvent(op.end);
  under_way_.clear();
  completed_ = enqueued_;
}

}  // namespace imbrex
