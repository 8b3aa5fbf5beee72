#include "imbrex/device/opencl_kernels.h"

#include <fmt/format.h>

#include "imbrex/base/hash.h"
#include "imbrex/device/opencl_error.h"

namespace imbrex {

opencl_kernels::~opencl_kernels() {
  for (const auto& k : kernels_) clReleaseKernel(k->native);
}

std::size_t opencl_kernels::hash_of_places::operator()(const places& p) const {
  return mix(mix(reinterpret_cast<std::uintptr_t>(p.source)) ^ mix(reinterpret_cast<std::uintptr_t>(p.options)) ^
             reinterpret_cast<std::uintptr_t>(p.name));
}

opencl_kernel& opencl_kernels::get(const char* source, const char* options, const char* name) {
  if (options == nullptr) options = "";
  opencl_kernel*& known = by_place_[{source, options, name}];
  if (known == nullptr || known->name != name || known->program->source != source ||
      known->program->options != options) {
    known = nullptr;
    known = &find_or_make(source, options, name);
  }
  return *known;
}

opencl_kernel& opencl_kernels::find_or_make(const char* source, const char* options, const char* name) {
  const opencl_program& program = processor_.programs().get(source, options);
  for (const auto& k : kernels_) {
    if (k->program == &program && k->name == name) return *k;
  }
  auto made = std::make_unique<opencl_kernel>();
  cl_int status = CL_SUCCESS;
  made->native = clCreateKernel(program.native, name, &status);
  check_opencl(status, fmt::format("making kernel '{}' for {}", name, processor_.full_name()));
  made->program = &program;
  made->name = name;
  kernels_.push_back(std::move(made));
  opencl_kernel& k = *kernels_.back();
  check_opencl(clGetKernelInfo(k.native, CL_KERNEL_NUM_ARGS, sizeof k.num_arguments, &k.num_arguments, nullptr),
               "asking a kernel for its arguments");
  return k;
}

}  // namespace imbrex
