#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "imbrex/hetero/submission/task_argument.h"
#include "imbrex/hetero/submission/task_function.h"
#include "imbrex/hetero/task_node.h"

namespace imbrex::detail {

/// What a task's handle can give besides its end; void: nothing.
template <class F>
using task_gives = std::remove_cvref_t<typename task_function<F>::result>;

/// The node of a task with its function and arguments.
template <class F, class Parameters, class... A>
struct task_of;
template <class F, class... P, class... A>
struct task_of<F, std::tuple<P...>, A...> final : task_node {
  static_assert(sizeof...(P) == sizeof...(A), "submit: the function has another number of parameters");
  static_assert((check_argument<P, A>() && ...));
  static constexpr std::size_t num_objects = (std::size_t{task_argument<A>::is_object} + ... + 0);

  task_of(F f, const A&... arguments)
      : task_node(its_type), function(std::move(f)), values(task_argument<A>::store(arguments)...) {
    num_accesses = num_objects;
    accesses = uses.data();
    [[maybe_unused]] std::size_t i = 0;
    (add_use<P, A>(arguments, i), ...);
    if constexpr (is_kernel_call<F>::value) groups.total = function.num_parts();
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
      return task_argument<B>::template make<Q>(c.arguments[before], std::get<I>(values), c);
    } else {
      return static_cast<Q>(task_argument<B>::get(std::get<I>(values), c));
    }
  }
  template <std::size_t... I>
  void call(const task_call& c, std::index_sequence<I...>) {
    if constexpr (is_kernel_call<F>::value) {
      function(c, argument<I>(c)...);
    } else if constexpr (is_codelet<F>::value) {
      if (c.order != nullptr) {
        function.on_device(*c.order, argument<I>(c)...);
      } else {
        function.on_host(argument<I>(c)...);
      }
    } else if constexpr (split_stream<typename signature<F>::parameters>::enqueues) {
      function(*c.order, argument<I>(c)...);
    } else if constexpr (std::is_void_v<task_gives<F>>) {
      function(argument<I>(c)...);
    } else {
      result.emplace(function(argument<I>(c)...));
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
  struct no_result {};
  [[no_unique_address]] std::conditional_t<std::is_void_v<task_gives<F>>, no_result, std::optional<task_gives<F>>>
      result;
};

}  // namespace imbrex::detail
