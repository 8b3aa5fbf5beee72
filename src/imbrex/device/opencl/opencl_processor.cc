#include "imbrex/device/opencl/opencl_processor.h"

#include <fmt/format.h>

#include <algorithm>

#include "imbrex/base/error.h"
#include "imbrex/base/topology.h"
#include "imbrex/device/opencl/opencl_error.h"

namespace imbrex {

namespace {

constexpr std::size_t alignment = 128;  // what clSVMAlloc gives unasked: the size of OpenCL's largest type

class shared_virtual_memory final : public memory_source {
 public:
  shared_virtual_memory(const opencl_processor& p, cl_context context) : processor_(p), context_(context) {}
  void* get(std::size_t bytes) override {
    if (bytes > processor_.memory().total) return nullptr;  // some drivers would promise it
    return clSVMAlloc(context_, CL_MEM_READ_WRITE, bytes, 0);
  }
  void give(void* memory, std::size_t) override { clSVMFree(context_, memory); }
  std::uint64_t free_bytes() override { return processor_.memory().free; }
  std::string name() override { return processor_.full_name(); }

 private:
  const opencl_processor& processor_;
  cl_context context_;
};

}  // namespace

opencl_processor::opencl_processor(opencl_context& context, cl_device_id device, int number, int place,
                                   const std::filesystem::path& cache_folder)
    : context_(context), device_(device), number_(number), place_(place) {
  const auto text = [device](cl_device_info what) {
    return opencl_text([&](std::size_t size, void* to, std::size_t* needed) {
      return clGetDeviceInfo(device, what, size, to, needed);
    });
  };
  name_ = text(CL_DEVICE_NAME);
  takes_priorities_ = text(CL_DEVICE_EXTENSIONS).find("cl_khr_priority_hints") != std::string::npos;
  cl_device_type type = 0;
  check_opencl(clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, nullptr),
               "asking " + name_ + " for its type");
  is_cpu_ = (type & CL_DEVICE_TYPE_CPU) != 0;
  cl_ulong bytes = 0;
  check_opencl(clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof bytes, &bytes, nullptr),
               "asking " + name_ + " for its memory");
  total_bytes_ = bytes;
  reading_ = make_queue(stream_priority::high);
  source_ = std::make_unique<shared_virtual_memory>(*this, context_.native());
  pool_ = std::make_unique<slab_pool>(*source_, slab_pool::default_slab_bytes, alignment);
  programs_ = std::make_unique<opencl_programs>(context_.native(), device, full_name(), cache_folder);
  cl_platform_id platform = nullptr;
  check_opencl(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, static_cast<void*>(&platform), nullptr),
               "asking " + name_ + " for its platform");
  const std::string platform_name = opencl_text([platform](std::size_t size, void* to, std::size_t* needed) {
    return clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, to, needed);
  });
  if (opencl_widening::is_needed(platform_name, text(CL_DRIVER_VERSION))) let_wider_launches_run_alone();
}

opencl_processor::~opencl_processor() { clReleaseCommandQueue(reading_); }

std::string opencl_processor::full_name() const { return fmt::format("OpenCL device {} ({})", number_, name_); }

// Called by the pool, too, whose lock is held then: it must not be asked what it has.
memory_info opencl_processor::memory() const {
  return {total_bytes_, is_cpu_ ? std::min<std::uint64_t>(available_host_memory(), total_bytes_) : total_bytes_};
}

cl_command_queue opencl_processor::make_queue(stream_priority p) const {
  const cl_queue_properties with_priority[] = {CL_QUEUE_PRIORITY_KHR,
                                               p == stream_priority::high
                                                   ? cl_queue_properties{CL_QUEUE_PRIORITY_HIGH_KHR}
                                                   : cl_queue_properties{CL_QUEUE_PRIORITY_LOW_KHR},
                                               0};
  cl_int status = CL_SUCCESS;
  cl_command_queue queue = clCreateCommandQueueWithProperties(context_.native(), device_,
                                                              takes_priorities_ ? with_priority : nullptr, &status);
  check_opencl(status, "making a queue of " + full_name());
  if (widening_ != nullptr) widening_->add(queue);
  return queue;
}

void opencl_processor::release_queue(cl_command_queue q) const {
  if (widening_ != nullptr) widening_->remove(q);
  clReleaseCommandQueue(q);
}

const opencl_widening& opencl_processor::let_wider_launches_run_alone() {
  if (widening_ == nullptr) widening_ = std::make_unique<opencl_widening>();
  return *widening_;
}

void opencl_processor::read(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  check_opencl(clEnqueueSVMMemcpy(reading_, CL_TRUE, to, from, bytes, 0, nullptr, nullptr), "copying to the host");
}

cl_event opencl_processor::start_copy(void* to, const void* from, std::size_t bytes) const {
  cl_event end = nullptr;
  check_opencl(clEnqueueSVMMemcpy(reading_, CL_FALSE, to, from, bytes, 0, nullptr, &end),
               "copying between devices by way of the host");
  check_opencl(clFlush(reading_), "copying between devices by way of the host");
  return end;
}

}  // namespace imbrex
