#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "imbrex/base/memory/slab.h"
#include "imbrex/device/kernel/kernel.h"
#include "imbrex/hetero/submission/reduced_object.h"
#include "imbrex/hetero/submission/task_argument.h"
#include "imbrex/hetero/submission/task_function.h"
#include "imbrex/hetero/submission/task_of.h"
#include "imbrex/hetero/tasks/hetero_domain.h"
#include "imbrex/hetero/tasks/hetero_task.h"

/// Submitting tasks.
namespace imbrex {

namespace detail {

/// Tasks whose results `arguments` are.
template <class... A>
void add_results(std::vector<hetero_task>& to, const A&... arguments) {
  const auto add = [&](const auto& a) {
    if constexpr (is_result<std::remove_cvref_t<decltype(a)>>) to.push_back(a);
  };
  (add(arguments), ...);
}

/// Where an argument's object belongs; null: it is no object.
template <class A>
hetero_domain* domain_of(const A& a) {
  if constexpr (requires {
                  { a.domain() } -> std::same_as<hetero_domain*>;
                }) {
    return a.domain();
  } else if constexpr (requires {
                         { a.object.domain() } -> std::same_as<hetero_domain*>;
                       }) {
    return a.object.domain();
  } else if constexpr (requires {
                         { a.grid.domain() } -> std::same_as<hetero_domain*>;
                       }) {
    return a.grid.domain();
  } else {
    return nullptr;
  }
}
/// The one of the first object, else the calling PE's.
template <class... A>
hetero_domain& domain_for(const A&... arguments) {
  hetero_domain* d = nullptr;
  ((d = d != nullptr ? d : domain_of(arguments)), ...);
  return d != nullptr ? *d : hetero_domain::current();
}

template <class A>
constexpr bool is_object_or_reduced() {
  if constexpr (reduces<A>) return true;
  return task_argument<A>::is_object;
}
template <class A>
void note_object(const A& a, used_object*& to) {
  if constexpr (reduces<A>) {
    using object = std::remove_cvref_t<decltype(a.object)>;
    *to++ = {task_argument<object>::object(a.object).data(), true};
  } else if constexpr (task_argument<A>::is_object) {
    *to++ = {task_argument<A>::object(a).data(), false};
  }
}
/// See `check_reduced_objects`: before there is a part to reduce into.
template <class... A>
void check_reduced([[maybe_unused]] const task_options& o, [[maybe_unused]] const A&... arguments) {
  if constexpr ((reduces<A> || ...)) {
    std::array<used_object, (std::size_t{is_object_or_reduced<A>()} + ...)> uses;
    used_object* next = uses.data();
    (note_object(arguments, next), ...);
    check_reduced_objects(o.name, uses);
  }
}

/// With arguments as they are for the domain.
template <class Parameters, class F, class... A>
auto submit_node(hetero_domain& domain, const task_options& o, std::uint8_t runs_on, F f, const A&... arguments) {
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
  set_options(*t, o, runs_on);
  hetero_task handle(t);
  if constexpr ((is_result<A> || ...)) {
    std::vector<hetero_task> after(o.after.begin(), o.after.end());
    add_results(after, arguments...);
    domain.submit(t, after);
  } else {
    domain.submit(t, o.after);
  }
  if constexpr (std::is_void_v<task_gives<F>>) {
    return handle;
  } else {
    return task_result<task_gives<F>>(std::move(handle), t->result);
  }
}

}  // namespace detail

/// Submits a function: `submit(domain, {.name = "scale"}, [](std::span<double> x, double f) {...}, x, 2.0)`. Its
/// parameters say what it does with the objects: `const T*` or `std::span<const T>` is read, `T*` or `std::span<T>`
/// read and written, unless the argument says otherwise (`imbrex::write(x)`). It runs on the host; or, if its first
/// parameter is a `stream&`, on a device: there it enqueues what computes, on this stream and no other, and must not
/// wait; or, if it is a `codelet`, on either. The function and the values are copied; the objects live until the task
/// is over. Returns at once a `hetero_task`, or a `task_result<R>` if it is a function of the host that returns an `R`.
/// Throws `usage_error`, `device_error` and `out_of_memory` for what could never run.
template <class F, class... A>
  requires(!std::is_base_of_v<kernel_source, F>)
auto submit(hetero_domain& domain, const task_options& o, F f, const A&... arguments) {
  using function = detail::task_function<F>;
  static_assert(
      !detail::awaitable<typename function::result>,
      "imbrex: a task's function is no coroutine: it would never run. Await in an entry method, and submit what "
      "computes");
  const std::uint8_t where = function::runs_on(f);
  detail::check_reduced(o, arguments...);
  return detail::submit_node<typename function::parameters>(domain, o, where, std::move(f),
                                                            detail::argument_in<A>::of(domain, arguments)...);
}

/// Submits a kernel: `submit(domain, {}, saxpy, launch_shape::over(n), n, 2.0F, x, y)`. It runs on any device that it
/// was built for, and on the host.
template <class... P, class... A>
hetero_task submit(hetero_domain& domain, task_options o, const kernel<void(P...)>& k, const launch_shape& shape,
                   const A&... arguments) {
  check_launch(k, shape);
  if (o.name.is_default()) o.name = task_name::lasting(k.name);
  detail::check_reduced(o, arguments...);
  return detail::submit_node<std::tuple<P...>>(domain, o, task_node::where_runs(k),
                                               detail::kernel_call<void(P...)>{&k, shape},
                                               detail::argument_in<A>::of(domain, arguments)...);
}

/// \name To the PE that the objects belong to, that is the calling one but for those of `process_domain`; without
/// objects to the calling PE
///@{
template <class F, class... A>
  requires(!std::is_base_of_v<kernel_source, F>)
auto submit(const task_options& o, F f, const A&... arguments) {
  return submit(detail::domain_for(arguments...), o, std::move(f), arguments...);
}
template <class... P, class... A>
hetero_task submit(const task_options& o, const kernel<void(P...)>& k, const launch_shape& shape,
                   const A&... arguments) {
  return submit(detail::domain_for(arguments...), o, k, shape, arguments...);
}
///@}

}  // namespace imbrex
