#pragma once

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "imbrex/async/task.h"
#include "imbrex/base/type_name.h"

namespace imbrex {

template <class Ref, class... Args>
class when;
template <class... Args>
class slot;

/// What can be named in `send<&C::m>`: a method, a method that is a coroutine, or a `when` slot.
enum class entry_kind { plain, coroutine, slot };

namespace detail {

template <class R>
struct unwrap_task {
  using type = R;
  static constexpr bool is = false;
};
template <class R>
struct unwrap_task<task<R>> {
  using type = R;
  static constexpr bool is = true;
};

template <class C, class R, class... A>
struct method_traits_of {
  using class_type = C;
  using result = std::remove_cvref_t<typename unwrap_task<R>::type>;  // of a reference a copy
  using args = std::tuple<std::remove_cvref_t<A>...>;
  static constexpr entry_kind kind = unwrap_task<R>::is ? entry_kind::coroutine : entry_kind::plain;
  /// Entry methods run later, perhaps elsewhere: a reference that the method could write through means nothing.
  static constexpr bool takes_mutable_reference =
      ((std::is_lvalue_reference_v<A> && !std::is_const_v<std::remove_reference_t<A>>) || ...);
  /// A coroutine's parameters must live in its frame: a reference would dangle once the message is freed.
  static constexpr bool takes_reference = (std::is_reference_v<A> || ...);
};

template <class M>
struct method_traits {
  static constexpr bool ok = false;
  using class_type = void;
};
template <class C, class R, class... A>
struct method_traits<R (C::*)(A...)> : method_traits_of<C, R, A...> {
  static constexpr bool ok = true;
};
template <class C, class R, class... A>
struct method_traits<R (C::*)(A...) const> : method_traits_of<C, R, A...> {
  static constexpr bool ok = true;
};
template <class C, class R, class... A>
struct method_traits<R (C::*)(A...) noexcept> : method_traits_of<C, R, A...> {
  static constexpr bool ok = true;
};
template <class C, class R, class... A>
struct method_traits<R (C::*)(A...) const noexcept> : method_traits_of<C, R, A...> {
  static constexpr bool ok = true;
};
template <class C, class Ref, class... A>
struct method_traits<when<Ref, A...> C::*> {
  static constexpr bool ok = true;
  using class_type = C;
  using result = void;
  using args = std::tuple<Ref, std::remove_cvref_t<A>...>;
  static constexpr entry_kind kind = entry_kind::slot;
  static constexpr bool takes_mutable_reference = false;
  static constexpr bool takes_reference = false;
};

template <class C, class... A>
struct method_traits<slot<A...> C::*> {
  static constexpr bool ok = true;
  using class_type = C;
  using result = void;
  using args = std::tuple<std::remove_cvref_t<A>...>;
  static constexpr entry_kind kind = entry_kind::slot;
  static constexpr bool takes_mutable_reference = false;
  static constexpr bool takes_reference = false;
};

template <class Args, class... A>
struct constructible_args : std::false_type {};
template <class... P, class... A>
  requires(sizeof...(P) == sizeof...(A))
struct constructible_args<std::tuple<P...>, A...> : std::bool_constant<(std::is_constructible_v<P, A> && ...)> {};

}  // namespace detail

/// What is known at compile time of the entry method or slot `M` of class C, e.g. `&block::halo`. Everything that is
/// compiled for an entry method has this type among its template arguments, and so the class: g++ forgets that a method
/// alone may be of an unnamed namespace, and would take one file's code for that of an equal name in another.
template <class C, auto M>
struct entry_of : detail::method_traits<decltype(M)> {
  using traits = detail::method_traits<decltype(M)>;
  static_assert(traits::ok,
                "imbrex: an entry is named by a pointer to a member function or to a `when` slot of a chare, "
                "e.g. send<&block::halo>(...)");
  static_assert(!traits::takes_mutable_reference,
                "imbrex: an entry method takes its arguments by value, const reference or rvalue reference: it runs "
                "later and perhaps in another process, so nobody would see what it writes");
  static_assert(
      traits::kind != entry_kind::coroutine || !traits::takes_reference,
      "imbrex: an entry method that is a coroutine takes its arguments by value: they must outlive the message");

  static constexpr auto method = M;
  using chare_type = C;

  /// Whether arguments of these types can be sent to it.
  template <class... A>
  static constexpr bool accepts = detail::constructible_args<typename traits::args, A...>::value;

  /// "block::halo".
  static const char* name() { return detail::entry_name<C, M>(); }
};

/// The same of `M` alone.
template <auto M>
using entry = entry_of<typename detail::method_traits<decltype(M)>::class_type, M>;

}  // namespace imbrex
