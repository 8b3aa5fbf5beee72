#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "imbrex/device/kernel/kernel.h"

namespace imbrex {

namespace detail {
class kernel_unit;
void check_signature(const kernel_source& k, std::span<const kernel_argument> wanted);
/// What `copy` has made of it, once for each type.
const void* typed_kernel(const kernel_source& k, const void* (*copy)(const kernel_source&));
}  // namespace detail

/// Kernels of the dialect whose text the program has when it runs: one that it writes itself, reads from a file, or
/// gets from another language (docs/kernels.md, "Kernels from strings").
///
///     const ix::text_kernels all(R"(
///       IX_KERNEL(saxpy, (int n, float a, IX_GLOBAL const float* x, IX_GLOBAL float* y)) {
///         IX_ITEMS_BELOW(n) { int i = IX_GLOBAL_ID(0); y[i] += a * x[i]; }
///       })");
///     const auto& saxpy = all.get<void(int, float, const float*, float*)>("saxpy");
///     ix::launch(s, saxpy, ix::launch_shape::over(n), n, 2.0F, x, y);
///
/// They are launched and submitted as those that were built with the program. Each form is compiled when it is first
/// needed, which takes the calling thread a second or so: for the CPU by the machine's C++ compiler, for CUDA by
/// NVRTC, for OpenCL by its driver. Those for the CPU and OpenCL are kept on disk for the next run. Texts, and what was
/// compiled, stay for the rest of the process; the same text twice is the same kernels. For any thread.
class text_kernels {
 public:
  /// Reads what kernels there are, and compiles nothing. `shown`: what errors call the text, such as a file's name.
  /// Throws `usage_error` for a text that declares none, or one with a parameter that is no number, nor pointer.
  explicit text_kernels(const std::string& text, const std::string& shown = "a kernel from a string");

  /// Throws `usage_error`, naming those that there are, when there is none of that name; and when it has a struct as a
  /// value, the size of which only a type says.
  const kernel_source& get(std::string_view name) const;
  /// The same with parameters that the compiler checks, and that are checked against the text now: `usage_error`.
  template <class Signature>
  const kernel<Signature>& get(std::string_view name) const {
    const kernel_source& k = find(name);
    detail::check_signature(k, kernel<Signature>::parameters);
    const auto copy = [](const kernel_source& of) -> const void* { return new kernel<Signature>(of); };
    return *static_cast<const kernel<Signature>*>(detail::typed_kernel(k, copy));
  }

  std::vector<std::string> names() const;
  /// Of the kernel's parameters, in its order; and their types, "float" also where it is a pointer to such.
  const std::vector<std::string>& parameters(std::string_view name) const;
  const std::vector<std::string>& types(std::string_view name) const;

 private:
  const kernel_source& find(std::string_view name) const;

  std::shared_ptr<detail::kernel_unit> unit_;
};

}  // namespace imbrex
