#include "imbrex/device/opencl/opencl_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "imbrex/base/error.h"
#include "imbrex/device/opencl/opencl_error.h"

namespace imbrex {

namespace {

constexpr const char* what_to_install =
    "install the OpenCL driver of the GPU's maker, or pocl-opencl-icd for the CPU (OCL_ICD_VENDORS may hide some)";

template <class T>
T device_number(cl_device_id d, cl_device_info what) {
  T value{};
  return clGetDeviceInfo(d, what, sizeof value, &value, nullptr) == CL_SUCCESS ? value : T{};
}

std::string device_text(cl_device_id d, cl_device_info what) {
  return opencl_text([&](std::size_t size, void* place, std::size_t* needed) {
    return clGetDeviceInfo(d, what, size, place, needed);
  });
}

std::string why_not(cl_device_id d) {
  if (device_number<cl_bool>(d, CL_DEVICE_AVAILABLE) == CL_FALSE) return "the driver says that it is not available";
  if (device_number<cl_bool>(d, CL_DEVICE_COMPILER_AVAILABLE) == CL_FALSE) return "its driver has no compiler";
  const std::string version = device_text(d, CL_DEVICE_VERSION);
  int major = 0;
  if (std::sscanf(version.c_str(), "OpenCL %d", &major) != 1 || major < 2)
    return fmt::format("it has {}, and imbrex needs 2.0 or newer", version);
  if ((device_number<cl_device_svm_capabilities>(d, CL_DEVICE_SVM_CAPABILITIES) & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) ==
      0)
    return "it has no shared virtual memory";
  return {};
}

void add_devices_of(cl_platform_id platform, std::vector<opencl_found>& list) {
  const std::string name = opencl_text([platform](std::size_t size, void* place, std::size_t* needed) {
    return clGetPlatformInfo(platform, CL_PLATFORM_NAME, size, place, needed);
  });
  cl_uint n = 0;
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &n) != CL_SUCCESS || n == 0) return;
  std::vector<cl_device_id> devices(n);
  if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, n, devices.data(), nullptr) != CL_SUCCESS) return;
  for (cl_device_id d : devices) {
    opencl_found f;
    f.platform = platform;
    f.device = d;
    f.name = device_text(d, CL_DEVICE_NAME);
    f.platform_name = name;
    f.is_cpu = (device_number<cl_device_type>(d, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU) != 0;
    f.memory_bytes = device_number<cl_ulong>(d, CL_DEVICE_GLOBAL_MEM_SIZE);
    f.why_not = why_not(d);
    list.push_back(std::move(f));
  }
}

std::vector<opencl_found> find_devices() {
  std::vector<opencl_found> all;
  cl_uint n = 0;
  if (clGetPlatformIDs(0, nullptr, &n) != CL_SUCCESS || n == 0) return all;
  std::vector<cl_platform_id> platforms(n);
  if (clGetPlatformIDs(n, platforms.data(), nullptr) != CL_SUCCESS) return all;
  std::vector<opencl_found> found;
  for (cl_platform_id p : platforms) add_devices_of(p, found);
  const auto rank = [](const opencl_found& f) { return !f.why_not.empty() ? 2 : f.is_cpu ? 1 : 0; };
  for (int r = 0; r <= 2; ++r) {
    for (const opencl_found& f : found) {
      if (rank(f) == r) all.push_back(f);
    }
  }
  return all;
}

}  // namespace

// PoCL 3.1 crashes when several threads ask for the first time.
const std::vector<opencl_found>& opencl_machine::list() {
  static const std::vector<opencl_found> all = find_devices();
  return all;
}

int opencl_machine::count(std::string* why_none) {
  const std::vector<opencl_found>& all = list();
  const auto n = std::ranges::count_if(all, [](const opencl_found& f) { return f.why_not.empty(); });
  if (n == 0 && why_none != nullptr) {
    *why_none = all.empty() ? fmt::format("no device of OpenCL was found: {}", what_to_install)
                            : fmt::format("{} ({}) cannot be used: {}: {}", all.front().name, all.front().platform_name,
                                          all.front().why_not, what_to_install);
  }
  return static_cast<int>(n);
}

opencl_machine::opencl_machine(const std::vector<int>& numbers, const std::filesystem::path& cache_folder) {
  const std::vector<opencl_found>& all = list();
  std::vector<std::size_t> chosen;
  for (const int n : numbers) {
    if (n < 0 || n >= static_cast<int>(all.size()) || !all[static_cast<std::size_t>(n)].why_not.empty())
      throw device_error(fmt::format("there is no usable device {} of OpenCL: imbrex info lists those there are", n));
    chosen.push_back(static_cast<std::size_t>(n));
  }
  for (const std::size_t n : chosen) {
    const opencl_found& f = all[n];
    contexts_.push_back(std::make_unique<opencl_context>(f.platform, f.device, f.name));
    processors_.push_back(std::make_unique<opencl_processor>(*contexts_.back(), f.device, static_cast<int>(n),
                                                             num_processors(), cache_folder));
  }
}

const opencl_processor* opencl_machine::owner_beside(const opencl_processor& p, const void* memory) const {
  if (processors_.size() == 1) return nullptr;
  const auto at = std::ranges::find_if(processors_, [&](const auto& q) { return q.get() != &p && q->owns(memory); });
  return at == processors_.end() ? nullptr : at->get();
}

opencl_machine::~opencl_machine() { processors_.clear(); }

}  // namespace imbrex
