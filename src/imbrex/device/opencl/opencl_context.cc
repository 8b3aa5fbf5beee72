#include "imbrex/device/opencl/opencl_context.h"

#include <cstdlib>
#include <map>

#include "imbrex/base/topology.h"
#include "imbrex/device/opencl/opencl_error.h"

namespace imbrex {

namespace {

class ordinary_memory final : public memory_source {
 public:
  void* get(std::size_t bytes) override {
    constexpr std::size_t page_bytes = 4096;
    return std::aligned_alloc(page_bytes, (bytes + page_bytes - 1) / page_bytes * page_bytes);
  }
  void give(void* memory, std::size_t) override { std::free(memory); }
  std::uint64_t free_bytes() override { return available_host_memory(); }
  std::string name() override { return "host memory of OpenCL"; }
};

/// Buffers that the driver puts into host memory, mapped for as long as they live: the one way in which OpenCL gives
/// memory that a GPU copies from and to directly.
class mapped_memory final : public memory_source {
 public:
  mapped_memory(cl_context context, cl_command_queue queue) : context_(context), queue_(queue) {}
  void* get(std::size_t bytes) override {
    cl_int status = CL_SUCCESS;
    cl_mem buffer = clCreateBuffer(context_, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, bytes, nullptr, &status);
    if (status != CL_SUCCESS) return nullptr;
    void* memory =
        clEnqueueMapBuffer(queue_, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, nullptr, nullptr, &status);
    if (status != CL_SUCCESS) {
      clReleaseMemObject(buffer);
      return nullptr;
    }
    buffers_.emplace(memory, buffer);
    return memory;
  }
  void give(void* memory, std::size_t) override {
    const auto at = buffers_.find(memory);
    clEnqueueUnmapMemObject(queue_, at->second, memory, 0, nullptr, nullptr);
    clFinish(queue_);
    clReleaseMemObject(at->second);
    buffers_.erase(at);
  }
  std::uint64_t free_bytes() override { return available_host_memory(); }
  std::string name() override { return "pinned host memory of OpenCL"; }

 private:
  cl_context context_;
  cl_command_queue queue_;
  std::map<void*, cl_mem> buffers_;
};

bool is_cpu(cl_device_id d) {
  cl_device_type type = 0;
  return clGetDeviceInfo(d, CL_DEVICE_TYPE, sizeof type, &type, nullptr) == CL_SUCCESS &&
         (type & CL_DEVICE_TYPE_CPU) != 0;
}

constexpr std::size_t pinned_slab_bytes = std::size_t{16} << 20;
constexpr std::size_t pinned_alignment = 64;

}  // namespace

opencl_context::opencl_context(cl_platform_id platform, cl_device_id device, const std::string& name) {
  const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, reinterpret_cast<cl_context_properties>(platform),
                                              0};
  cl_int status = CL_SUCCESS;
  native_ = clCreateContext(properties, 1, &device, nullptr, nullptr, &status);
  check_opencl(status, "making a context of " + name);
  if (is_cpu(device)) {
    pinned_source_ = std::make_unique<ordinary_memory>();
  } else {
    queue_ = clCreateCommandQueueWithProperties(native_, device, nullptr, &status);
    if (status != CL_SUCCESS) clReleaseContext(native_);
    check_opencl(status, "making a queue of " + name);
    pinned_source_ = std::make_unique<mapped_memory>(native_, queue_);
  }
  pinned_ = std::make_unique<slab_pool>(*pinned_source_, pinned_slab_bytes, pinned_alignment);
}

opencl_context::~opencl_context() {
  pinned_.reset();
  if (queue_ != nullptr) clReleaseCommandQueue(queue_);
  clReleaseContext(native_);
}

}  // namespace imbrex
