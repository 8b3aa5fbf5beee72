#include "imbrex/device/opencl/opencl_programs.h"

#include <fmt/format.h>

#include "imbrex/base/error.h"
#include "imbrex/base/hash.h"
#include "imbrex/device/kernel/kernel_text.h"
#include "imbrex/device/opencl/opencl_error.h"

namespace imbrex {

namespace {
std::string text_of_device(cl_device_id device, cl_device_info what) {
  return opencl_text([&](std::size_t size, void* place, std::size_t* needed) {
    return clGetDeviceInfo(device, what, size, place, needed);
  });
}
}  // namespace

opencl_programs::opencl_programs(cl_context context, cl_device_id device, std::string name,
                                 std::filesystem::path cache_folder)
    : context_(context),
      device_(device),
      name_(std::move(name)),
      cache_(std::move(cache_folder)),
      device_name_(text_of_device(device, CL_DEVICE_NAME)),
      driver_(text_of_device(device, CL_DEVICE_VERSION) + ", driver " + text_of_device(device, CL_DRIVER_VERSION)) {}

opencl_programs::~opencl_programs() {
  for (const auto& [hash, program] : programs_) clReleaseProgram(program->native);
}

opencl_program_cache::program opencl_programs::key(std::string_view source, std::string_view options) const {
  return {std::string(source), std::string(options), device_name_, driver_};
}

const opencl_program& opencl_programs::get(std::string_view source, std::string_view options) {
  const std::uint64_t hash = mix(hash_bytes(source)) ^ hash_bytes(options);
  const std::lock_guard lock(mutex_);
  const auto [first, last] = programs_.equal_range(hash);
  for (auto p = first; p != last; ++p) {
    if (p->second->source == source && p->second->options == options) {
      ++usage_.from_memory;
      return *p->second;
    }
  }
  const opencl_program_cache::program wanted = key(source, options);
  auto made = std::make_unique<opencl_program>();
  made->native = load(wanted);
  if (made->native == nullptr) {
    made->native = compile(wanted);
    cache_.keep(wanted, binary_of(made->native));
  }
  made->source = wanted.source;
  made->options = wanted.options;
  return *programs_.emplace(hash, std::move(made))->second;
}

// A driver may refuse what it wrote itself, for reasons of its own: then it compiles again.
cl_program opencl_programs::load(const opencl_program_cache::program& key) {
  const auto binary = cache_.find(key);
  if (!binary) return nullptr;
  const std::size_t bytes = binary->size();
  const unsigned char* data = binary->data();
  cl_int status = CL_SUCCESS, of_binary = CL_SUCCESS;
  cl_program p = clCreateProgramWithBinary(context_, 1, &device_, &bytes, &data, &of_binary, &status);
  if (status == CL_SUCCESS && of_binary == CL_SUCCESS &&
      clBuildProgram(p, 1, &device_, key.options.c_str(), nullptr, nullptr) == CL_SUCCESS) {
    ++usage_.from_file;
    return p;
  }
  if (p != nullptr) clReleaseProgram(p);
  return nullptr;
}

cl_program opencl_programs::compile(const opencl_program_cache::program& key) {
  const std::string source = with_first_parameters(key.source);
  const char* text = source.c_str();
  const std::size_t bytes = source.size();
  cl_int status = CL_SUCCESS;
  cl_program p = clCreateProgramWithSource(context_, 1, &text, &bytes, &status);
  check_opencl(status, "making a program for " + name_);
  status = clBuildProgram(p, 1, &device_, key.options.c_str(), nullptr, nullptr);
  if (status != CL_SUCCESS) {
    const std::string log = opencl_text([&](std::size_t size, void* place, std::size_t* needed) {
      return clGetProgramBuildInfo(p, device_, CL_PROGRAM_BUILD_LOG, size, place, needed);
    });
    clReleaseProgram(p);
    throw device_error(fmt::format("a program for {} with options '{}' does not compile: {}\n{}", name_, key.options,
                                   opencl_error_text(status), with_named_lines(log, source)));
  }
  ++usage_.compiled;
  return p;
}

std::vector<unsigned char> opencl_programs::binary_of(cl_program p) const {
  cl_uint num_devices = 0;
  if (clGetProgramInfo(p, CL_PROGRAM_NUM_DEVICES, sizeof num_devices, &num_devices, nullptr) != CL_SUCCESS) return {};
  std::vector<cl_device_id> devices(num_devices);
  std::vector<std::size_t> sizes(num_devices);
  if (clGetProgramInfo(p, CL_PROGRAM_DEVICES, num_devices * sizeof(cl_device_id), devices.data(), nullptr) !=
          CL_SUCCESS ||
      clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, num_devices * sizeof(std::size_t), sizes.data(), nullptr) !=
          CL_SUCCESS)
    return {};
  // A null place: this device's binary is not wanted.
  std::vector<unsigned char> binary;
  std::vector<unsigned char*> places(num_devices, nullptr);
  for (cl_uint i = 0; i < num_devices; ++i) {
    if (devices[i] != device_) continue;
    binary.resize(sizes[i]);
    places[i] = binary.data();
  }
  if (binary.empty() || clGetProgramInfo(p, CL_PROGRAM_BINARIES, num_devices * sizeof(unsigned char*), places.data(),
                                         nullptr) != CL_SUCCESS)
    return {};
  return binary;
}

opencl_programs::usage opencl_programs::used() const {
  const std::lock_guard lock(mutex_);
  return usage_;
}

}  // namespace imbrex
