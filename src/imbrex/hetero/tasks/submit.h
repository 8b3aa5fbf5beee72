#pragma once

#include <algorithm>
#include <array>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>

#include "imbrex/base/memory/slab.h"
#include "imbrex/device/buffer.h"
#include "imbrex/device/kernel/kernel.h"
#include "imbrex/hetero/graph/task_name.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/hetero_task.h"

/// Submitting tasks: functions of the host, functions that enqueue on a device's stream, and kernels.
namespace imbrex {

template <class T>
class hetero_object;

/// How a task shall run.
struct task_options {
  task_name name = {};  ///< a literal or a `std::string`; for reports, traces and what is remembered of its cost
  int priority = 0;     ///< the higher, the sooner, among those that could run
  device_kind on = any_device;
  int number = -1;                          ///< with `on`: of the devices of that kind; -1: any
  std::span<const hetero_task> after = {};  ///< it waits for these too

  static constexpr auto any_device = static_cast<device_kind>(0xff);
};

/// An object as an argument, used in another way than the parameter says.
template <class T, access_mode Mode>
struct with_access {
  hetero_object<T> object;
};
/// \name `imbrex::write(c)`: the task overwrites all of `c`, and so does not need what is there.
///@{
template <class T>
with_access<T, access_mode::read> read(hetero_object<T> o) {
  return {std::move(o)};
}
template <class T>
with_access<T, access_mode::write> write(hetero_object<T> o) {
  return {std::move(o)};
}
template <class T>
with_access<T, access_mode::read_write> read_write(hetero_object<T> o) {
  return {std::move(o)};
}
///@}

namespace detail {

/// What an argument is: an object, used so or as the parameter says, or a value.
template <class A>
struct task_argument {
  static constexpr bool is_object = false;
  using stored = A;
};
template <class T>
struct task_argument<hetero_object<T>> {
  static constexpr bool is_object = true;
  static constexpr bool says_access = false;
  using element = T;
  using stored = std::size_t;  // elements
  static const hetero_object<T>& object(const hetero_object<T>& o) { return o; }
};
template <class T, access_mode Mode>
struct task_argument<with_access<T, Mode>> {
  static constexpr bool is_object = true;
  static constexpr bool says_access = true;
  static constexpr access_mode mode = Mode;
  using element = T;
  using stored = std::size_t;
  static const hetero_object<T>& object(const with_access<T, Mode>& o) { return o.object; }
};

/// A parameter that stands for an object: `T*`, `const T*`, `std::span<T>`, `std::span<const T>`, `buffer_view` of
/// them.
template <class P>
struct object_parameter {
  static constexpr bool is = false;
};
template <class T>
struct object_parameter<T*> {
  static constexpr bool is = true;
  using element = std::remove_const_t<T>;
  static constexpr bool reads_only = std::is_const_v<T>;
  static T* make(std::byte* at, std::size_t, memory_kind) { return reinterpret_cast<T*>(at); }
};
template <class T>
struct object_parameter<std::span<T>> {
  static constexpr bool is = true;
  using element = std::remove_const_t<T>;
  static constexpr bool reads_only = std::is_const_v<T>;
  static std::span<T> make(std::byte* at, std::size_t n, memory_kind) { return {reinterpret_cast<T*>(at), n}; }
};
template <class T>
struct object_parameter<buffer_view<T>> {
  static constexpr bool is = true;
  using element = std::remove_const_t<T>;
  static constexpr bool reads_only = std::is_const_v<T>;
  static buffer_view<T> make(std::byte* at, std::size_t n, memory_kind k) { return {reinterpret_cast<T*>(at), n, k}; }
};

template <class P, class A>
constexpr access_mode access_of() {
  using argument = task_argument<A>;
  if constexpr (argument::says_access) {
    static_assert(!object_parameter<P>::reads_only || argument::mode == access_mode::read,
                  "submit: the parameter is const, but the argument says that it is written");
    return argument::mode;
  } else {
    if constexpr (object_parameter<P>::reads_only) return access_mode::read;
    return access_mode::read_write;
  }
}

template <class P, class A>
constexpr bool check_argument() {
  if constexpr (task_argument<A>::is_object) {
    static_assert(object_parameter<P>::is,
                  "submit: the argument is an object: its parameter must be a pointer, std::span or buffer_view");
    static_assert(std::is_same_v<typename object_parameter<P>::element, typename task_argument<A>::element>,
                  "submit: the object's elements are of another type than the parameter's");
  } else {
    static_assert(std::is_convertible_v<A, P>, "submit: an argument does not fit its parameter");
    static_assert(!std::is_pointer_v<P>, "submit: a pointer parameter stands for a hetero_object: pass one");
  }
  return true;
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
template <class F>
struct is_kernel_call : std::false_type {};
template <class S>
struct is_kernel_call<kernel_call<S>> : std::true_type {};

template <class F, class Parameters, class... A>
struct task_of;
template <class F, class... P, class... A>
struct task_of<F, std::tuple<P...>, A...> final : task_node {
  static_assert(sizeof...(P) == sizeof...(A), "submit: the function has another number of parameters");
  static_assert((check_argument<P, A>() && ...));
  static constexpr std::size_t num_objects = (std::size_t{task_argument<A>::is_object} + ... + 0);

  task_of(F f, const A&... arguments)
      : task_node(its_type), function(std::move(f)), values(stored_of<A>(arguments)...) {
    num_accesses = num_objects;
    accesses = uses.data();
    [[maybe_unused]] std::size_t i = 0;
    (add_use<P, A>(arguments, i), ...);
    if constexpr (is_kernel_call<F>::value) groups.total = function.num_parts();
  }

  template <class B>
  static typename task_argument<B>::stored stored_of(const B& b) {
    if constexpr (task_argument<B>::is_object) {
      return task_argument<B>::object(b).size();
    } else {
      return b;
    }
  }
  template <class Q, class B>
  void add_use(const B& b, std::size_t& i) {
    if constexpr (task_argument<B>::is_object) {
      const auto& o = task_argument<B>::object(b);
      static_cast<void>(o.domain());  // throws when it is empty
      uses[i].to = this;
      uses[i].data = o.data();
      uses[i].mode = access_of<Q, B>();
      ++i;
    }
  }
  template <std::size_t I>
  decltype(auto) argument(const task_call& c) {
    using B = std::tuple_element_t<I, std::tuple<A...>>;
    using Q = std::tuple_element_t<I, std::tuple<P...>>;
    if constexpr (task_argument<B>::is_object) {
      constexpr std::size_t before = [] {
        constexpr std::array<bool, sizeof...(A)> objects{task_argument<A>::is_object...};
        std::size_t n = 0;
        for (std::size_t j = 0; j < I; ++j) n += objects[j] ? 1 : 0;
        return n;
      }();
      const memory_kind kind = c.at->is_host() ? memory_kind::host : c.at->on().allocates();
      return object_parameter<Q>::make(c.arguments[before], std::get<I>(values), kind);
    } else {
      return static_cast<Q>(std::get<I>(values));
    }
  }
  template <std::size_t... I>
  void call(const task_call& c, std::index_sequence<I...>) {
    if constexpr (is_kernel_call<F>::value) {
      function(c, argument<I>(c)...);
    } else if constexpr (split_stream<typename signature<F>::parameters>::enqueues) {
      function(*c.order, argument<I>(c)...);
    } else {
      function(argument<I>(c)...);
    }
  }

  static void run(task_node* t, const task_call& c) {
    static_cast<task_of*>(t)->call(c, std::index_sequence_for<P...>{});
  }
  static task_parts* parts_of(task_node* t) {
    if constexpr (is_kernel_call<F>::value) {
      return &static_cast<task_of*>(t)->groups;
    } else {
      return nullptr;
    }
  }
  static constexpr task_type its_type{&run, &destroy_node<task_of>, is_kernel_call<F>::value ? &parts_of : nullptr};

  [[no_unique_address]] F function;
  [[no_unique_address]] std::tuple<typename task_argument<A>::stored...> values;
  [[no_unique_address]] std::array<task_access, num_objects> uses;
  struct nothing {};
  [[no_unique_address]] std::conditional_t<is_kernel_call<F>::value, task_parts, nothing> groups;
};

template <class Parameters, class F, class... A>
hetero_task submit_node(hetero_domain& domain, const task_options& o, std::uint8_t runs_on, F f,
                        const A&... arguments) {
  using node = task_of<F, Parameters, A...>;
  static_assert(alignof(node) <= 16);
  void* const memory = slab::allocate(sizeof(node));
  node* t = nullptr;
  try {
    t = new (memory) node(std::move(f), arguments...);
  } catch (...) {
    slab::free(memory);
    throw;
  }
  t->wishes.name = o.name.text();
  t->wishes.priority = o.priority;
  t->wishes.any = o.on == task_options::any_device;
  t->wishes.kind = t->wishes.any ? device_kind::host : o.on;
  t->wishes.number = static_cast<std::int16_t>(std::min(o.number, INT16_MAX));
  t->runs_on = runs_on;
  hetero_task handle(t);
  domain.submit(t, o.after);
  return handle;
}

}  // namespace detail

/// Submits a function: `submit(domain, {.name = "scale"}, [](std::span<double> x, double f) {...}, x, 2.0)`.
/// Its parameters say what it does with the objects: `const T*` or `std::span<const T>` is read, `T*` or `std::span<T>`
/// read and written, unless the argument says otherwise (`imbrex::write(x)`). It runs on the host; or, if its first
/// parameter is a `stream&`, on a device: there it enqueues what computes, on this stream and no other, and must not
/// wait. The function and the values are copied; the objects live until the task is over.
/// Returns at once. Throws `usage_error`, `device_error` and `out_of_memory` for what could never run.
template <class F, class... A>
  requires(!std::is_base_of_v<kernel_source, F>)
hetero_task submit(hetero_domain& domain, const task_options& o, F f, const A&... arguments) {
  static_assert(
      !detail::awaitable<typename detail::signature<F>::result>,
      "imbrex: a task's function is no coroutine: it would never run. Await in an entry method, and submit what "
      "computes");
  using split = detail::split_stream<typename detail::signature<F>::parameters>;
  constexpr std::uint8_t devices = task_node::on_devices(device_kind::cuda) |
                                   task_node::on_devices(device_kind::opencl) |
                                   task_node::on_devices(device_kind::host);
  constexpr std::uint8_t where = split::enqueues ? devices : task_node::on_the_host;
  auto handle = detail::submit_node<typename split::parameters>(domain, o, where, std::move(f), arguments...);
  return handle;
}

/// Submits a kernel: `submit(domain, {}, saxpy, launch_shape::over(n), n, 2.0F, x, y)`. It runs on any device that it
/// was built for, and on the host.
template <class... P, class... A>
hetero_task submit(hetero_domain& domain, task_options o, const kernel<void(P...)>& k, const launch_shape& shape,
                   const A&... arguments) {
  check_launch(k, shape);
  if (o.name.is_default()) o.name = task_name::lasting(k.name);
  std::uint8_t where = task_node::on_the_host | task_node::on_devices(device_kind::host);
  if (k.on_cuda != nullptr) where |= task_node::on_devices(device_kind::cuda);
  if (k.opencl_text != nullptr) where |= task_node::on_devices(device_kind::opencl);
  return detail::submit_node<std::tuple<P...>>(domain, o, where, detail::kernel_call<void(P...)>{&k, shape},
                                               arguments...);
}

/// \name Of the calling PE
///@{
template <class F, class... A>
  requires(!std::is_base_of_v<kernel_source, F>)
hetero_task submit(const task_options& o, F f, const A&... arguments) {
  return submit(hetero_domain::current(), o, std::move(f), arguments...);
}
template <class... P, class... A>
hetero_task submit(const task_options& o, const kernel<void(P...)>& k, const launch_shape& shape,
                   const A&... arguments) {
  return submit(hetero_domain::current(), o, k, shape, arguments...);
}
///@}

}  // namespace imbrex
