#pragma once

#include <concepts>
#include <cstddef>
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

}  // namespace imbrex::detail
