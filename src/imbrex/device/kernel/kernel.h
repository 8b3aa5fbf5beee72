#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "imbrex/device/kernel/cpu_group.h"
#include "imbrex/device/kernel/launch_shape.h"

/// Kernels that are written once, for the CPU, CUDA and OpenCL (Thomadakis 2024, 3.1.5). The macros to write them with
/// are in kernel_dialect.h; docs/kernels.md explains them.
namespace imbrex {

class stream;
namespace detail {
class late_kernel;
}

/// What a parameter of a kernel is.
struct kernel_argument {
  enum class kind {
    read,        ///< `const T*`
    read_write,  ///< `T*`
    value,
  };
  kind what = kind::value;
  std::size_t bytes = 0;  ///< of the value, or of an element that the pointer points to

  /// Of what a launch is given: the value, or the pointer itself.
  constexpr std::size_t value_bytes() const { return what == kind::value ? bytes : sizeof(void*); }
};

/// Runs one work-group on the calling thread; `arguments[i]` points to the value of the i-th argument (of a pointer
/// too).
using cpu_function = void (*)(const cpu_group&, void* const* arguments);

/// A kernel for the CPU, by instruction set: the same loops for vectors of other widths. Null: there is none.
struct cpu_forms {
  cpu_function everywhere = nullptr;
  cpu_function avx2 = nullptr;
  cpu_function avx512 = nullptr;

  /// For the widest vectors that this machine has.
  cpu_function best() const;
};

/// A kernel of any signature. Made by the macros of the dialect, of static lifetime, immutable: for any thread.
struct kernel_source {
  using cuda_function = void (*)(stream&, const launch_shape&, void* const* arguments);

  const char* name;
  std::span<const kernel_argument> arguments;
  cpu_forms on_cpu;
  /// Launches it into a stream of a CUDA device; null when the program was built without.
  cuda_function on_cuda = nullptr;
  /// What `with_first_parameters` (kernel_text.h) makes the source for clBuildProgram of, with the dialect's
  /// definitions in front; null when there is none. The kernel `name` then has one parameter more, the first: local
  /// memory of `opencl_local_bytes(shape)` bytes.
  const char* opencl_text = nullptr;
  /// The only size of group it may be launched with; zeros: any.
  extent3 fixed_group{0, 0, 0};
  /// Of a text that came at run time (`text_kernels`): gives forms for the CPU and CUDA when they are needed. Null: it
  /// was built with the program.
  detail::late_kernel* late = nullptr;

  /// \name Whether it has, or can be given, a form for the host, for GPUs of CUDA, for OpenCL
  ///@{
  bool runs_on_host() const { return late == nullptr || late_runs_on_host(); }
  bool runs_on_cuda() const { return on_cuda != nullptr || (late != nullptr && late_runs_on_cuda()); }
  bool runs_on_opencl() const { return opencl_text != nullptr; }
  ///@}

  static constexpr const char* opencl_options = "-cl-std=CL1.2";
  static constexpr std::size_t opencl_local_bytes(const launch_shape& s) {
    return s.shared_bytes < 16 ? 16 : s.shared_bytes;
  }

 private:
  bool late_runs_on_host() const;
  bool late_runs_on_cuda() const;
};

namespace detail {
template <class P>
constexpr kernel_argument argument_of() {
  if constexpr (std::is_pointer_v<P>) {
    using element = std::remove_pointer_t<P>;
    static_assert(std::is_object_v<element> && !std::is_pointer_v<element>,
                  "a kernel's pointers point to plain objects: not to void, nor to pointers");
    return {std::is_const_v<element> ? kernel_argument::kind::read : kernel_argument::kind::read_write,
            sizeof(element)};
  } else {
    static_assert(std::is_trivially_copyable_v<P> && !std::is_reference_v<P> && !std::is_same_v<P, bool>,
                  "a kernel's values are numbers (not bool) or structs of them: OpenCL takes no others");
    return {kernel_argument::kind::value, sizeof(P)};
  }
}

/// Whether an argument of type A may stand for a parameter of type P: numbers convert, but not from floating point to
/// integers; pointers may become `const`.
template <class A, class P>
concept kernel_argument_for = std::convertible_to<A, P> && (!std::is_pointer_v<P> || !std::integral<A>) &&
                              !(std::floating_point<std::remove_cvref_t<A>> && std::integral<P>);

template <auto Body>
struct group_runner;
template <class Group, class... P, void (*Body)(Group, void*, P...)>
struct group_runner<Body> {
  static void run(const cpu_group& g, void* const* arguments) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      if constexpr (std::is_same_v<Group, cpu_group>)
        Body(g, g.shared, *static_cast<P*>(arguments[I])...);
      else
        Body(Group{g}, g.shared, *static_cast<P*>(arguments[I])...);
    }(std::index_sequence_for<P...>{});
  }
};
}  // namespace detail

/// A kernel of the parameters P: `const T*` is read, `T*` is read and written, all else is a value.
template <class Signature>
class kernel;
template <class... P>
class kernel<void(P...)> : public kernel_source {
 public:
  static_assert(sizeof...(P) > 0, "a kernel has at least one parameter");
  static constexpr std::array<kernel_argument, sizeof...(P)> parameters{detail::argument_of<P>()...};

  constexpr kernel(const char* its_name, const cpu_forms& cpu, cuda_function cuda, const char* text,
                   extent3 group = {0, 0, 0})
      : kernel_source{its_name, parameters, cpu, cuda, text, group, nullptr} {}
  /// Of one that has these parameters.
  explicit constexpr kernel(const kernel_source& of) : kernel_source(of) { kernel_source::arguments = parameters; }
};

/// Runs the kernel in the order of `s`, on the device that `s` belongs to; on the host device on the PE's thread.
/// `arguments[i]` points to the value of the i-th argument, which is copied at once; what pointers point to must live
/// until the kernel has run. Throws `usage_error` for a shape that cannot be launched, and when the kernel was not
/// built for that device; `device_error` when the device refuses.
void launch(stream& s, const kernel_source& k, const launch_shape& shape, void* const* arguments);

/// The same with arguments that the compiler checks: `ix::launch(s, saxpy, ix::launch_shape::over(n), n, 2.0F, x, y)`.
template <class... P, class... A>
void launch(stream& s, const kernel<void(P...)>& k, const launch_shape& shape, A&&... arguments) {
  static_assert(sizeof...(A) == sizeof...(P), "launch: the kernel has another number of parameters");
  if constexpr (sizeof...(A) == sizeof...(P)) {
    static_assert((detail::kernel_argument_for<A, P> && ...),
                  "launch: an argument does not fit its parameter of the kernel; see kernel_argument_for<argument, "
                  "parameter> below (const pointers are for const parameters, floating point does not become integer)");
    if constexpr ((detail::kernel_argument_for<A, P> && ...)) {
      [&](P... values) {
        void* const places[] = {const_cast<void*>(static_cast<const void*>(&values))...};
        launch(s, static_cast<const kernel_source&>(k), shape, places);
      }(static_cast<P>(arguments)...);
    }
  }
}

/// Throws `usage_error`, naming kernel, value and remedy, unless the kernel can be launched in this shape.
void check_launch(const kernel_source& k, const launch_shape& shape);

/// Runs the groups `first` to `last - 1`, counted with x fastest, on the calling thread: several PEs can share the
/// groups of one launch. The shape has been checked.
void run_on_cpu(const kernel_source& k, const launch_shape& shape, void* const* arguments, std::size_t first_group,
                std::size_t last_group);

}  // namespace imbrex
