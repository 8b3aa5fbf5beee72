#pragma once

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "imbrex/device/kernel/kernel.h"
#include "imbrex/hetero/graph/task_name.h"
#include "imbrex/hetero/task_node.h"
#include "imbrex/hetero/tasks/hetero_task.h"

/// What a task can be: a function of the host, one that enqueues on a device's stream, both, or a kernel.
namespace imbrex {

/// How a task shall run.
struct task_options {
  task_name name = {};  ///< a literal or a `std::string`; for reports, traces and what is remembered of its cost
  int priority = 0;     ///< the higher, the sooner, among those that could run
  device_kind on = any_device;
  int number = -1;                          ///< with `on`: of the devices of that kind; -1: any
  std::span<const hetero_task> after = {};  ///< it waits for these too
  const task_bundle* bundle = nullptr;      ///< it runs where others of that run

  static constexpr auto any_device = static_cast<device_kind>(0xff);
};

/// One task, two ways to do it (StarPU's word): a function of the host, and one that enqueues on a `stream&` of a
/// device, with the same parameters otherwise; for instance a routine of LAPACK, and one of cuSOLVER. Where it runs is
/// decided as for kernels. `kind`: the kind of device that the second is for.
///
///     imbrex::submit({.name = "potrf"}, imbrex::codelet{&potrf, &potrf_on_gpu, imbrex::device_kind::cuda}, a, n);
template <class Host, class Device>
struct codelet {
  Host on_host;
  Device on_device;
  device_kind kind = task_options::any_device;
};
/// Deduced: `ix::codelet{on_host, on_device}`, for devices of one kind with a third.
template <class Host, class Device>
codelet(Host, Device) -> codelet<Host, Device>;
template <class Host, class Device>
codelet(Host, Device, device_kind) -> codelet<Host, Device>;

namespace detail {

/// How a task that is to be submitted shall run, and where it can.
inline void set_options(task_node& t, const task_options& o, std::uint8_t runs_on) {
  t.wishes.name = o.name.text();
  t.wishes.priority = o.priority;
  t.wishes.any = o.on == task_options::any_device;
  t.wishes.kind = t.wishes.any ? device_kind::host : o.on;
  t.wishes.number = static_cast<std::int16_t>(std::min(o.number, INT16_MAX));
  t.runs_on = runs_on;
  if (o.bundle != nullptr) [[unlikely]]
    t.extras().bundle = o.bundle->shared();
}

/// Whether calling gives something that only runs when it is awaited.
template <class R>
concept awaitable = requires(R r) { r.operator co_await(); } || requires(R r) { operator co_await(r); } ||
                    requires(R r) { r.await_ready(); };

/// The parameters of a function object.
template <class F>
struct signature : signature<decltype(&F::operator())> {};
template <class R, class C, class... P>
struct signature<R (C::*)(P...) const> {
  using result = R;
  using parameters = std::tuple<P...>;
};
template <class R, class C, class... P>
struct signature<R (C::*)(P...)> {
  using result = R;
  using parameters = std::tuple<P...>;
};
template <class R, class... P>
struct signature<R (*)(P...)> {
  using result = R;
  using parameters = std::tuple<P...>;
};

/// Whether it enqueues on a stream, its first parameter, instead of computing on the host; and its other parameters.
template <class Tuple>
struct split_stream {
  static constexpr bool enqueues = false;
  using parameters = Tuple;
};
template <class... P>
struct split_stream<std::tuple<stream&, P...>> {
  static constexpr bool enqueues = true;
  using parameters = std::tuple<P...>;
};

/// A kernel with its shape, called as a function that enqueues or computes.
template <class Signature>
struct kernel_call;
template <class... P>
struct kernel_call<void(P...)> {
  const kernel<void(P...)>* which;
  launch_shape shape;

  void operator()(const task_call& c, P... values) const {
    if (c.order != nullptr) {
      launch(*c.order, *which, shape, std::forward<P>(values)...);
    } else {
      void* const places[] = {const_cast<void*>(static_cast<const void*>(&values))...};
      run_on_cpu(*which, shape, places, c.first_part, c.last_part != 0 ? c.last_part : shape.num_groups());
    }
  }
  /// Work-groups that other PEs may take some of; 0: there is but one.
  std::size_t num_parts() const { return shape.num_groups() > 1 ? shape.num_groups() : 0; }
};
/// Where a function can run, and its parameters besides a stream.
template <class F>
struct task_function {
  using split = split_stream<typename signature<F>::parameters>;
  using parameters = typename split::parameters;
  using result = std::conditional_t<split::enqueues, void, typename signature<F>::result>;
  static constexpr std::uint8_t on_all_devices = task_node::on_devices(device_kind::cuda) |
                                                 task_node::on_devices(device_kind::opencl) |
                                                 task_node::on_devices(device_kind::host);
  static std::uint8_t runs_on(const F&) { return split::enqueues ? on_all_devices : task_node::on_the_host; }
};
template <class Host, class Device>
struct task_function<codelet<Host, Device>> {
  using of_device = split_stream<typename signature<Device>::parameters>;
  using parameters = typename signature<Host>::parameters;
  using result = void;
  static_assert(of_device::enqueues,
                "codelet: the second function enqueues: "
                "its first parameter is a `stream&`");
  static_assert(std::is_same_v<parameters, typename of_device::parameters>,
                "codelet: both functions have the same parameters, besides the stream");
  static_assert(std::is_void_v<typename signature<Host>::result>, "codelet: its functions return nothing");
  static std::uint8_t runs_on(const codelet<Host, Device>& c) {
    return static_cast<std::uint8_t>(
        task_node::on_the_host |
        (c.kind == task_options::any_device ? task_function<Device>::on_all_devices : task_node::on_devices(c.kind)));
  }
};
template <class F>
struct is_codelet : std::false_type {};
template <class Host, class Device>
struct is_codelet<codelet<Host, Device>> : std::true_type {};
template <class F>
struct is_kernel_call : std::false_type {};
template <class S>
struct is_kernel_call<kernel_call<S>> : std::true_type {};

template <class... P>
struct task_function<kernel_call<void(P...)>> {
  using parameters = std::tuple<P...>;
  using result = void;
};

}  // namespace detail

}  // namespace imbrex
