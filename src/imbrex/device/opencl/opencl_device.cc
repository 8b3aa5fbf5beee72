#include "imbrex/device/opencl/opencl_device.h"

#include "imbrex/async/activity.h"
#include "imbrex/base/error.h"
#include "imbrex/device/opencl/opencl_error.h"
#include "imbrex/device/opencl/opencl_event.h"
#include "imbrex/device/opencl/opencl_stream.h"
#include "imbrex/device/pool/memory_guards.h"

namespace imbrex {

slab_pool& opencl_device::pool(memory_kind kind) const {
  return kind == memory_kind::device ? processor_.pool() : processor_.context().pinned();
}

memory_info opencl_device::memory() const {
  memory_info m = processor_.memory();
  const std::uint64_t taken = processor_.pool().used().from_source;
  m.free -= taken < m.free ? taken : m.free;
  return m;
}

void* opencl_device::allocate(std::size_t bytes, memory_kind kind) {
  if (guards() == nullptr) return pool(kind).allocate(bytes, name_of_doer(pe_));
  void* const raw = pool(kind).allocate(memory_guards::with_guards(bytes), name_of_doer(pe_));
  return guards()->put(*this, raw, bytes, kind);
}

void opencl_device::free(void* memory, std::size_t, memory_kind kind) noexcept {
  pool(kind).free(guards() == nullptr ? memory : guards()->take_off(*this, memory));
}

memory_usage opencl_device::used(memory_kind kind) const {
  const slab_pool::usage u = pool(kind).used();
  return {u.in_use, u.high_water, u.from_source, u.source_calls};
}

void opencl_device::read_now(void* to, const void* from, std::size_t bytes, const event& e) {
  if (const auto* point = dynamic_cast<const opencl_event*>(e.state().get()); point != nullptr) {
    const cl_event native = point->native();
    if (native == nullptr && !point->complete())
      throw usage_error("memory of " + processor_.full_name() +
                        " was read after a point that its stream stops in front of");
    if (native != nullptr) check_opencl(clWaitForEvents(1, &native), "waiting for an event");
  } else if (!e.complete()) {
    throw usage_error("memory of " + processor_.full_name() + " was read after a point of another kind of device");
  }
  processor_.read(to, from, bytes);
}

std::unique_ptr<stream> opencl_device::make_stream(stream_priority p, std::string label) {
  return std::make_unique<opencl_stream>(*this, p, std::move(label));
}

bool opencl_device::reaches(const device& other) const {
  return other.kind() == device_kind::opencl && &static_cast<const opencl_device&>(other).processor_ == &processor_;
}

}  // namespace imbrex
