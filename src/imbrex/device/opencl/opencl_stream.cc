#include "imbrex/device/opencl/opencl_stream.h"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/device/opencl/opencl_error.h"
#include "imbrex/device/opencl/opencl_kernels.h"

namespace imbrex {

namespace {

constexpr std::uint64_t for_queue = UINT64_MAX;     // the number of a kept operation that is the driver's
constexpr std::uint64_t for_host = UINT64_MAX - 1;  // that of one that is there for what writes memory of the host

bool stops(const stream_operation& op) { return op.is_kernel || op.ready != nullptr; }

/// A point that the stream has not come to, nor will when this goes.
struct point_ahead {
  explicit point_ahead(std::shared_ptr<opencl_event> p) : point(std::move(p)) {}
  point_ahead(point_ahead&&) = default;
  ~point_ahead() {
    if (point != nullptr && point->native() == nullptr) point->pass();
  }
  std::shared_ptr<opencl_event> point;
};

struct free_pinned {
  opencl_device* of;
  std::size_t bytes;
  void operator()(void* memory) const { of->free(memory, bytes, memory_kind::pinned); }
};

}  // namespace

// ------------------------------------------------------------------------------------------------ what is kept

void opencl_stream::list::push(stream_operation* op) {
  op->next = nullptr;
  (last != nullptr ? last->next : first) = op;
  last = op;
}

stream_operation* opencl_stream::list::pop() {
  stream_operation* const op = first;
  first = op->next;
  if (first == nullptr) last = nullptr;
  return op;
}

void opencl_stream::list::discard() {
  while (!empty()) {
    stream_operation* const op = pop();
    op->act(op, work_action::discard);
  }
}

/// The values of its arguments are its own once it is kept.
struct opencl_stream::kernel_launch {
  const opencl_kernel* kernel;
  std::array<unsigned, 3> groups, group;
  std::size_t local_bytes;
  std::span<const opencl_argument> arguments;
  std::vector<opencl_argument> own_arguments;
  std::vector<std::vector<unsigned char>> own_values;

  void keep() {
    own_arguments.assign(arguments.begin(), arguments.end());
    arguments = own_arguments;
    for (opencl_argument& a : own_arguments) {
      if (a.what != opencl_argument::kind::value) continue;
      const auto* const bytes = static_cast<const unsigned char*>(a.data);
      a.data = own_values.emplace_back(bytes, bytes + a.size).data();
    }
  }
};

/// Until a point is reached that the driver cannot wait for here, or does not know yet.
struct opencl_stream::waiting final : stream_operation {
  waiting(opencl_stream& s, std::shared_ptr<event_state> e, const opencl_event& p)
      : of(s), held(std::move(e)), point(p), is_own(&p.context() == &s.device_->processor().context()) {
    name = "waiting for an event";
    ready = [](stream_operation* o) {
      const auto* self = static_cast<waiting*>(o);
      return (self->is_own && self->point.native() != nullptr) || self->point.complete();
    };
    act = [](stream_operation* o, work_action action) {
      auto* self = static_cast<waiting*>(o);
      if (action == work_action::run && !self->point.complete()) self->of.add_barrier(self->point);
      self->~waiting();
      slab::free(self);
    };
  }
  opencl_stream& of;
  const std::shared_ptr<event_state> held;
  const opencl_event& point;
  const bool is_own;
};

/// Until what was enqueued before has written the memory of the host that it writes.
struct opencl_stream::host_write_wait final : stream_operation {
  host_write_wait() {
    name = "waiting for copies to the host";
    ready = [](stream_operation*) { return true; };
    act = [](stream_operation* o, work_action) {
      auto* self = static_cast<host_write_wait*>(o);
      self->~host_write_wait();
      slab::free(self);
    };
  }
};

/// A copy between another device's memory and the host's, in that device's queue.
struct opencl_stream::crossing final : stream_operation {
  crossing(opencl_stream& s, const opencl_processor& other, void* destination, const void* source, std::size_t n)
      : of(s), by(other), to(destination), from(source), bytes(n) {
    name = "copying between devices";
    ready = [](stream_operation* o) { return static_cast<crossing*>(o)->has_crossed(); };
    act = [](stream_operation* o, work_action) {
      auto* self = static_cast<crossing*>(o);
      self->~crossing();
      slab::free(self);
    };
  }
  bool has_crossed() const {
    cl_event& end = of.of_other_;
    if (end == nullptr) end = by.start_copy(to, from, bytes);
    cl_int status = CL_COMPLETE;
    cl_int asked = clGetEventInfo(end, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, nullptr);
    if (asked == CL_SUCCESS && status > CL_COMPLETE) return false;
    clReleaseEvent(std::exchange(end, nullptr));
    if (asked == CL_SUCCESS) asked = status;
    if (asked == CL_SUCCESS) return true;
    throw device_error(fmt::format("'{}' in {} failed: {}", name, of.place(), opencl_error_text(asked)));
  }
  opencl_stream& of;
  const opencl_processor& by;
  void* const to;
  const void* const from;
  const std::size_t bytes;
};

opencl_stream::opencl_stream(opencl_device& d, stream_priority p, std::string label)
    : stream(std::move(label)), device_(&d), priority_(p) {}

opencl_stream::~opencl_stream() {
  finish();
  device_->completion().detach(*this);
  reachable_.discard();
  kept_.discard();
  if (of_other_ != nullptr) clReleaseEvent(of_other_);
  if (queue_ != nullptr) device_->processor().release_queue(queue_);
}

void opencl_stream::leave() {
  device_->completion().detach(*this);
  last_point_.reset();
}

void opencl_stream::arrive(device& here) {
  auto* const next = static_cast<opencl_device*>(&here);
  if (queue_ != nullptr && &next->processor() != &device_->processor())
    device_->processor().release_queue(std::exchange(queue_, nullptr));
  device_ = next;
}

cl_command_queue opencl_stream::queue() {
  if (queue_ == nullptr) [[unlikely]]
    queue_ = device_->processor().make_queue(priority_);
  return queue_;
}

std::string opencl_stream::place() const { return fmt::format("{}, on {}", label(), device_->processor().full_name()); }

bool opencl_stream::owns(const void* memory) const { return device_->processor().owns(memory); }

template <class F>
void opencl_stream::submit(const char* name, F f) {
  ++asked_;
  if (!stopped_) return f();
  stream_operation* const op = detail::function_operation<F>::make(name, false, std::move(f));
  op->number = for_queue;
  kept_.push(op);
}

void opencl_stream::append(stream_operation* op) {
  ++asked_;
  device_->completion().busy(*this);
  if (stopped_) {
    kept_.push(op);
  } else {
    put(op);
  }
}

void opencl_stream::put(stream_operation* op) {
  if (op->number == for_host && host_writes_are_over()) return op->act(op, work_action::run);
  op->number = enqueued_;
  reachable_.push(op);
  stopped_ = stops(*op);
}

void opencl_stream::release() {
  stopped_ = false;
  while (!stopped_ && !kept_.empty()) {
    stream_operation* const op = kept_.pop();
    if (op->number == for_queue) {
      op->act(op, work_action::run);
    } else {
      put(op);
    }
  }
  flush();
}

// ------------------------------------------------------------------------------------------------ operations

void opencl_stream::add(cl_int status, const char* name, cl_event end) {
  if (status != CL_SUCCESS) [[unlikely]]
    throw device_error(fmt::format("{} in {}: {}", name, place(), opencl_error_text(status)));
  under_way_.push_back({name, end});
  ++enqueued_;
  flushed_ = false;
  device_->completion().busy(*this);
}

void opencl_stream::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const opencl_machine& machine = device_->machine();
  if (machine.owner_beside(device_->processor(), to) != nullptr ||
      machine.owner_beside(device_->processor(), from) != nullptr) {
    return copy_by_host(to, from, bytes);
  }
  const bool to_device = owns(to), from_device = owns(from);
  if (!to_device && !from_device) return call("copy", [=] { std::memcpy(to, from, bytes); });
  if (!from_device && (stopped_ || !host_writes_are_over())) append(make_host_write_wait());
  submit("copying", [this, to, from, bytes, to_device] { add_copy(to, from, bytes, to_device); });
}

/// NVIDIA's driver (580) reads up to some 64 KB of the host's memory when a copy is enqueued, whatever stands before
/// it.
stream_operation* opencl_stream::make_host_write_wait() {
  auto* const op = new (slab::allocate(sizeof(host_write_wait))) host_write_wait;
  op->number = for_host;
  return op;
}

void opencl_stream::add_copy(void* to, const void* from, std::size_t bytes, bool to_device) {
  cl_event end = nullptr;
  const cl_int status = clEnqueueSVMMemcpy(queue(), CL_FALSE, to, from, bytes, 0, nullptr, &end);
  add(status, "copying", end);
  if (!to_device) writes_host_until_ = enqueued_;
}

void opencl_stream::copy_by_host(void* to, const void* from, std::size_t bytes) {
  std::unique_ptr<void, free_pinned> between(device_->allocate(bytes, memory_kind::pinned), {device_, bytes});
  const auto step = [&](const void* of_device, void* destination, const void* source) {
    const opencl_processor* const other = device_->machine().owner_beside(device_->processor(), of_device);
    if (other == nullptr) return copy(destination, source, bytes);
    append(new (slab::allocate(sizeof(crossing))) crossing(*this, *other, destination, source, bytes));
  };
  step(from, between.get(), from);
  step(to, to, between.get());
  then("copied", [memory = std::move(between)] {});
}

void opencl_stream::fill(void* to, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  if (owns(to)) {
    submit("filling memory", [this, to, value, bytes] { add_fill(to, value, bytes); });
  } else if (device_->machine().owner_beside(device_->processor(), to) == nullptr) {
    call("fill", [to, value, bytes] { std::memset(to, value, bytes); });
  } else {
    throw usage_error(fmt::format("{} does not fill memory of another device: let a stream of that do it", place()));
  }
}

void opencl_stream::add_fill(void* to, unsigned char value, std::size_t bytes) {
  // The longest pattern that fits: drivers write as many bytes at once.
  unsigned char pattern[16];
  std::memset(pattern, value, sizeof pattern);
  std::size_t size = sizeof pattern;
  while ((reinterpret_cast<std::uintptr_t>(to) | bytes) % size != 0) size /= 2;
  cl_event end = nullptr;
  const cl_int status = clEnqueueSVMMemFill(queue(), to, pattern, size, bytes, 0, nullptr, &end);
  add(status, "filling memory", end);
}

void opencl_stream::enqueue_native(const char* name, std::function<void(cl_command_queue)> f) {
  submit(name, [this, name, own = std::move(f)] { add_native(name, own); });
}

// The queue is in order: the marker ends after all of it. Nobody knows whether that writes memory of the host.
void opencl_stream::add_native(const char* name, const std::function<void(cl_command_queue)>& f) {
  std::exception_ptr thrown;
  try {
    f(queue());
  } catch (...) {
    thrown = std::current_exception();  // what it had enqueued is under way
  }
  cl_event end = nullptr;
  const cl_int status = clEnqueueMarkerWithWaitList(queue(), 0, nullptr, &end);
  add(status, name, end);
  writes_host_until_ = enqueued_;
  if (thrown) std::rethrow_exception(thrown);
}

event opencl_stream::record() {
  if (empty() || (!stopped_ && under_way_.empty())) return event();  // already past it
  if (last_point_ != nullptr && last_point_at_ == asked_) return event(last_point_);
  const opencl_context& context = device_->processor().context();
  if (stopped_) {
    last_point_ = std::make_shared<opencl_event>(context);
    submit("a point", [this, ahead = point_ahead(last_point_)] {
      if (under_way_.empty()) return ahead.point->pass();
      ahead.point->set(under_way_.back().end, !host_writes_are_over());
      flush();
    });
  } else {
    last_point_ = std::make_shared<opencl_event>(context, under_way_.back().end, !host_writes_are_over());
    flush();  // before others may wait for it
  }
  last_point_at_ = asked_;
  return event(last_point_);
}

void opencl_stream::wait(const event& e) {
  if (e.state() == nullptr || e.state() == last_point_ || e.complete()) return;
  const auto* point = dynamic_cast<const opencl_event*>(e.state().get());
  if (point == nullptr) {
    throw usage_error(fmt::format(
        "{} cannot wait for a stream of another kind of device: await `done()` of the other stream first", place()));
  }
  if (!stopped_ && point->native() != nullptr && &point->context() == &device_->processor().context()) {
    ++asked_;
    add_barrier(*point);
  } else {
    append(new (slab::allocate(sizeof(waiting))) waiting(*this, e.state(), *point));
  }
}

void opencl_stream::add_barrier(const opencl_event& after) {
  const cl_event first = after.native();
  cl_event end = nullptr;
  const cl_int status = clEnqueueBarrierWithWaitList(queue(), 1, &first, &end);
  add(status, "waiting for an event", end);
  if (after.writes_host()) writes_host_until_ = enqueued_;
}

std::unique_ptr<graph> opencl_stream::capture(const std::function<void()>&) {
  throw usage_error(label() + ": OpenCL has no graphs; enqueue the operations themselves");
}

// ------------------------------------------------------------------------------------------------ kernels

cl_kernel opencl_stream::set_arguments(const kernel_launch& l) const {
  const opencl_kernel& k = *l.kernel;
  const bool one_more = l.arguments.size() + 1 == k.num_arguments && l.local_bytes > 0;
  if (l.arguments.size() != k.num_arguments && !one_more) {
    throw usage_error(fmt::format("kernel '{}' has {} arguments, but was given {}, in {}", k.name, k.num_arguments,
                                  l.arguments.size(), place()));
  }
  const cl_kernel native = k.for_nulls(l.arguments);
  cl_uint i = 0;
  for (const opencl_argument& a : l.arguments) {
    cl_int status = CL_SUCCESS;
    switch (a.what) {
      case opencl_argument::kind::pointer:
        if (a.data != nullptr && !owns(a.data)) {
          throw usage_error(
              fmt::format("argument {} of kernel '{}' points to memory that was not allocated by {}, or "
                          "not as its own: copy it to a buffer of the device",
                          i, k.name, device_->processor().full_name()));
        }
        status = a.data != nullptr ? clSetKernelArgSVMPointer(native, i, a.data)
                                   : clSetKernelArg(native, i, sizeof(cl_mem), nullptr);
        break;
      case opencl_argument::kind::value: status = clSetKernelArg(native, i, a.size, a.data); break;
      case opencl_argument::kind::local: status = clSetKernelArg(native, i, a.size, nullptr); break;
    }
    if (status != CL_SUCCESS) {
      throw usage_error(fmt::format("argument {} of kernel '{}', of {} bytes, does not fit: {}", i, k.name, a.size,
                                    opencl_error_text(status)));
    }
    ++i;
  }
  if (one_more) check_opencl(clSetKernelArg(native, i, l.local_bytes, nullptr), "setting a kernel's local memory");
  return native;
}

void opencl_stream::launch_program_kernel(const char* source, const char* options, const char* kernel_name,
                                          const std::array<unsigned, 3>& groups, const std::array<unsigned, 3>& group,
                                          std::size_t local_bytes, std::span<const opencl_argument> arguments) {
  kernel_launch l{&device_->kernels().get(source, options, kernel_name), groups, group, local_bytes, arguments, {}, {}};
  const cl_kernel native = set_arguments(l);  // also where it is done again later: errors are the caller's
  if (!stopped_) {
    ++asked_;
    return add_kernel(l, native);
  }
  l.keep();
  const char* const name = l.kernel->name.c_str();
  submit(name, [this, kept = std::move(l)] { add_kernel(kept, set_arguments(kept)); });
}

void opencl_stream::add_kernel(const kernel_launch& l, cl_kernel native) {
  std::size_t all[3], each[3];
  for (std::size_t d = 0; d < 3; ++d) {
    each[d] = l.group[d];
    all[d] = std::size_t{l.groups[d]} * l.group[d];
  }
  cl_event end = nullptr;
  const cl_int status = device_->processor().launch(queue(), *l.kernel, native, all, each, &end);
  if (status != CL_SUCCESS) [[unlikely]] {
    throw device_error(
        fmt::format("launching kernel '{}' with {} x {} x {} groups of {} x {} x {} work items and {} bytes of local "
                    "memory in {}: {}",
                    l.kernel->name, l.groups[0], l.groups[1], l.groups[2], l.group[0], l.group[1], l.group[2],
                    l.local_bytes, place(), opencl_error_text(status)));
  }
  add(status, l.kernel->name.c_str(), end);
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
  return empty();
}

void opencl_stream::run_reached() {
  while (!reachable_.empty() && reachable_.first->number <= completed_) {
    stream_operation* const op = reachable_.first;
    if (op->ready != nullptr && !op->ready(op)) return;
    const bool stopped_here = stops(*op);
    reachable_.pop();
    perform(device_->pe(), op);
    if (stopped_here) release();
  }
}

bool opencl_stream::advance() {
  refresh();
  run_reached();
  return empty();
}

void opencl_stream::enqueue(stream_operation* op) {
  op->number = 0;
  if (idle()) {
    perform(device_->pe(), op);
  } else {
    append(op);
  }
}

void opencl_stream::finish() noexcept {
  if (of_other_ != nullptr) clWaitForEvents(1, &of_other_);
  if (queue_ != nullptr) clFinish(queue_);
  for (const operation& op : under_way_) clReleaseEvent(op.end);
  under_way_.clear();
  completed_ = enqueued_;
}

}  // namespace imbrex
