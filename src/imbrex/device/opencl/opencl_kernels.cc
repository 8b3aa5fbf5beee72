#include "imbrex/device/opencl/opencl_kernels.h"

#include <fmt/format.h>

#include "imbrex/base/hash.h"
#include "imbrex/device/opencl/opencl_error.h"

namespace imbrex {

namespace {

cl_kernel make(const opencl_program& p, const std::string& name) {
  cl_int status = CL_SUCCESS;
  const cl_kernel k = clCreateKernel(p.native, name.c_str(), &status);
  // The compiler takes a kernel that is called like a function of its own, such as step or mix, for that.
  check_opencl(status, status == CL_INVALID_KERNEL_NAME
                           ? fmt::format("making kernel '{}', whose name may be one of OpenCL's own functions: "
                                         "call it otherwise",
                                         name)
                           : fmt::format("making kernel '{}'", name));
  return k;
}

}  // namespace

opencl_kernel::~opencl_kernel() {
  clReleaseKernel(native);
  for (const auto& [places, k] : with_nulls_) clReleaseKernel(k);
}

cl_kernel opencl_kernel::for_nulls(std::span<const opencl_argument> arguments) const {
  std::uint64_t places = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].what == opencl_argument::kind::pointer && arguments[i].data == nullptr)
      places |= std::uint64_t{1} << (i % 64);
  }
  if (places == 0) [[likely]]
    return native;
  for (const auto& [known, k] : with_nulls_) {
    if (known == places) return k;
  }
  return with_nulls_.emplace_back(places, make(*program, name)).second;
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
  auto made = std::make_unique<opencl_kernel>(program, name, make(program, name));
  kernels_.push_back(std::move(made));
  opencl_kernel& k = *kernels_.back();
  check_opencl(clGetKernelInfo(k.native, CL_KERNEL_NUM_ARGS, sizeof k.num_arguments, &k.num_arguments, nullptr),
               "asking a kernel for its arguments");
  return k;
}

}  // namespace imbrex
