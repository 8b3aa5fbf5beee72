#include "imbrex/device/kernel/text/kernel_unit.h"

#include <fmt/format.h>

#include <atomic>

#include "imbrex/base/build_config.h"
#include "imbrex/base/error.h"
#include "imbrex/device/kernel/dialect_opencl.h"
#include "imbrex/device/kernel/text/cpu_compiler.h"
#if IMBREX_HAVE_CUDA
#include "imbrex/device/cuda/text/cuda_nvrtc.h"
#endif

namespace imbrex::detail {

kernel_unit::kernel_unit(std::string text, std::string shown)
    : text_(std::move(text)),
      shown_(std::move(shown)),
      opencl_text_(fmt::format("{}#line 1 \"{}\"\n{}\n", IX_OPENCL_DIALECT, shown_, text_)),
      declared_(declared_kernels(text_)) {
  if (declared_.empty())
    throw usage_error(fmt::format("{} has no kernel: it begins with IX_KERNEL(name, (parameters)) {{", shown_));
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    const kernel_declaration& d = declared_[i];
    members_.emplace_back(*this, i);
    kernels_.push_back(
        {d.name.c_str(), d.arguments, {}, nullptr, opencl_text_.c_str(), d.fixed_group, &members_.back()});
  }
}

std::size_t kernel_unit::number_of(std::string_view name) const {
  for (std::size_t i = 0; i < declared_.size(); ++i) {
    if (declared_[i].name == name) return i;
  }
  std::string all;
  for (const kernel_declaration& d : declared_) all += (all.empty() ? "" : ", ") + d.name;
  throw usage_error(fmt::format("{} has no kernel '{}': it has {}", shown_, name, all));
}

cpu_function kernel_unit::on_cpu(std::size_t i) {
  const std::lock_guard alone(mutex_);
  if (cpu_failure_) std::rethrow_exception(cpu_failure_);
  if (on_cpu_.empty()) {
    std::vector<std::string> names;
    names.reserve(declared_.size());
    for (const kernel_declaration& d : declared_) names.push_back(d.name);
    try {
      on_cpu_ = cpu_compiler::compile(text_, shown_, names);
    } catch (...) {
      cpu_failure_ = std::current_exception();
      throw;
    }
  }
  return on_cpu_[i];
}

bool kernel_unit::member::has_cpu() const { return cpu_compiler::is_there(); }

#if IMBREX_HAVE_CUDA
bool kernel_unit::member::has_cuda() const { return nvrtc::is_there(); }
void kernel_unit::member::launch_on_cuda(stream& s, const launch_shape& shape, void* const* arguments) {
  nvrtc::launch(s, unit_.kernel(number_), unit_.text(), unit_.shown(), shape, arguments);
}
#else
bool kernel_unit::member::has_cuda() const { return false; }
void kernel_unit::member::launch_on_cuda(stream&, const launch_shape&, void* const*) {
  throw not_built("this imbrex was built without CUDA: " IMBREX_NOTE_CUDA);
}
#endif

}  // namespace imbrex::detail
