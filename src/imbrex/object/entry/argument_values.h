#pragma once

#include <concepts>
#include <cstddef>
#include <new>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <fmt/core.h>

#include "imbrex/base/type_name.h"

/// Numbers that are sent are converted to what the entry method takes, which no compiler warns of, since it happens
/// inside of imbrex. So one that its parameter cannot hold is an error: 5'000'000'000 for an `int`, -1 for a
/// `std::size_t`, 1.5 for a `long`. That a `double` is rounded to a `float`, or a number of 64 bits to a `double`, is
/// not.
namespace imbrex::detail {

/// Throws `usage_error`.
[[noreturn, gnu::cold]] void refuse_argument(const char* entry, std::size_t place, const std::string& value,
                                             const char* parameter);

[[noreturn, gnu::cold]] void refuse_argument_of_constructor(const char* chare, std::size_t place,
                                                            const std::string& value, const char* parameter);

template <class T>
concept sent_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

/// Whether some value of type A is none of P.
template <class P, class A>
constexpr bool may_not_fit = false;
template <sent_number P, sent_number A>
  requires std::integral<P> && (!std::same_as<P, A>)
constexpr bool may_not_fit<P, A> = std::is_floating_point_v<A> || sizeof(P) < sizeof(A) ||
                                   (std::is_signed_v<A> && std::is_unsigned_v<P>) ||
                                   (sizeof(P) == sizeof(A) && std::is_signed_v<P> && std::is_unsigned_v<A>);

template <class P, class A>
constexpr bool fits(const A& value) {
  if constexpr (std::is_floating_point_v<A>) {
    // Bounds as A has them: the largest of a 64-bit type is none of a double, the power of two behind it is.
    constexpr int bits = static_cast<int>(sizeof(P) * 8) - (std::is_signed_v<P> ? 1 : 0);
    A end = 1;
    for (int i = 0; i < bits; ++i) end *= 2;
    const bool inside = value < end && (std::is_signed_v<P> ? value >= -end : value > -1);
    return inside && static_cast<A>(static_cast<P>(value)) == value;
  } else {
    const P there = static_cast<P>(value);
    return static_cast<A>(there) == value && (there < P{}) == (value < A{});
  }
}

/// Of arguments for entry method or slot E.
template <class E, class... A>
constexpr void check_arguments(const A&... arguments) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (
        [&] {
          using parameter = std::tuple_element_t<I, typename E::args>;
          if constexpr (may_not_fit<parameter, A>) {
            if (!fits<parameter>(arguments)) [[unlikely]]
              refuse_argument(E::name(), I + 1, fmt::format("{}", arguments), type_name<parameter>());
          }
        }(),
        ...);
  }(std::index_sequence_for<A...>{});
}

/// A number for a parameter of a constructor, whose types no template sees: it converts to whatever number that is, if
/// that can hold it.
template <sent_number A>
struct checked_number {
  const A& value;
  std::size_t place;
  const char* of;
  template <sent_number P>
  operator P() const {  // NOLINT(google-explicit-constructor)
    if constexpr (may_not_fit<P, A>) {
      if (!fits<P>(value)) [[unlikely]]
        refuse_argument_of_constructor(of, place, fmt::format("{}", value), type_name<P>());
    }
    return static_cast<P>(value);
  }
};
struct no_number {};

template <class A>
const A& with_check(const A& argument, std::size_t, const char*) {
  return argument;
}
template <sent_number A>
checked_number<A> with_check(const A& number, std::size_t place, const char* of) {
  return {number, place, of};
}

/// Whether C is made of these arguments by one constructor, whose parameters for numbers are numbers.
template <class C, class... A>
constexpr bool checks_numbers = false;
template <class C, class... A>
  requires(sent_number<A> || ...)
constexpr bool checks_numbers<C, A...> =
    std::is_constructible_v<C, decltype(with_check(std::declval<const A&>(), 0, ""))...> &&
    !std::is_constructible_v<C, std::conditional_t<sent_number<A>, no_number, const A&>...>;

/// A new C at `memory`, of these arguments.
template <class C, class... A>
C* construct_at(void* memory, const char* name, const A&... arguments) {
  if constexpr (checks_numbers<C, A...>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return new (memory) C(with_check(arguments, I + 1, name)...);
    }(std::index_sequence_for<A...>{});
  } else {
    return new (memory) C(arguments...);
  }
}

}  // namespace imbrex::detail
