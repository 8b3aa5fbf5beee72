#pragma once

#include <array>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <typeindex>
#include <utility>
#include <variant>

/// Which types that could be copied as bytes refer to memory of their process, as far as the compiler can see:
/// pointers, views, iterators, and aggregates that have one among their parts. Not seen: private members, references,
/// what follows an empty member, and parts beyond the first `most_parts`; address_watch.h looks at those while ranks
/// share a process.
namespace imbrex::detail {

inline constexpr std::size_t most_parts = 24;  ///< scalars of an aggregate that are looked at

template <class T>
struct is_view : std::false_type {};
template <class C, class T>
struct is_view<std::basic_string_view<C, T>> : std::true_type {};
template <class T, std::size_t N>
struct is_view<std::span<T, N>> : std::true_type {};
template <class T>
struct is_view<std::reference_wrapper<T>> : std::true_type {};
template <class T>
struct is_view<std::initializer_list<T>> : std::true_type {};
template <class P>
struct is_view<std::coroutine_handle<P>> : std::true_type {};
template <>
struct is_view<std::type_index> : std::true_type {};
template <>
struct is_view<std::error_code> : std::true_type {};
template <>
struct is_view<std::error_condition> : std::true_type {};

template <class T>
concept iterator_like = std::is_class_v<T> && std::is_trivially_copyable_v<T> && requires(T& t) {
  *t;
  ++t;
};

template <class T>
constexpr bool refers_to_memory();

/// Stands for any part of an aggregate, that is a scalar or a class that is none; an aggregate inside gives way to its
/// own parts.
struct any_part {
  template <class P>
    requires(!std::is_aggregate_v<P>)
  operator P() const noexcept;  // NOLINT(google-explicit-constructor)
};
/// The same for those that refer to memory.
struct any_reference {
  template <class P>
    requires(!std::is_aggregate_v<P> && refers_to_memory<P>())
  operator P() const noexcept;  // NOLINT(google-explicit-constructor)
};
/// The same for scalars.
struct any_scalar {
  template <class P>
    requires(std::is_scalar_v<P>)
  operator P() const noexcept;  // NOLINT(google-explicit-constructor)
};

template <std::size_t, class T>
using nth = T;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-braces"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
template <class T, class Each, class Last, std::size_t... I>
constexpr bool made_of(std::index_sequence<I...>) {
  return requires { T{nth<I, Each>{}..., Last{}}; };
}
#pragma GCC diagnostic pop

/// Whether an aggregate can be made of `N` parts and then one that `Last` stands for.
template <class T, std::size_t N, class Last, class Each = any_part>
inline constexpr bool has_part = made_of<T, Each, Last>(std::make_index_sequence<N>{});

template <class T, std::size_t N = 0>
constexpr bool has_reference_part() {
  if constexpr (N == most_parts) {
    return false;
  } else if constexpr (has_part<T, N, any_reference>) {
    return true;
  } else if constexpr (has_part<T, N, any_part>) {
    return has_reference_part<T, N + 1>();
  } else {
    return false;
  }
}

/// Whether all parts were seen, and are scalars.
template <class T, std::size_t N = 0>
constexpr bool has_only_scalars() {
  if constexpr (N == most_parts) {
    return false;
  } else if constexpr (has_part<T, N, any_scalar, any_scalar>) {
    return has_only_scalars<T, N + 1>();
  } else {
    return N > 0 && !has_part<T, N, any_part>;
  }
}

/// Whether the compiler sees that a value of this type refers to memory of its process.
template <class T>
constexpr bool refers_to_memory() {
  if constexpr (std::is_pointer_v<T> || std::is_member_function_pointer_v<T> || std::is_reference_v<T> ||
                is_view<T>::value) {
    return true;
  } else if constexpr (std::is_array_v<T>) {
    return refers_to_memory<std::remove_extent_t<T>>();
  } else if constexpr (requires { []<class U, std::size_t N>(const std::array<U, N>*) {}(static_cast<T*>(nullptr)); }) {
    return refers_to_memory<typename T::value_type>();
  } else if constexpr (requires { []<class U>(const std::optional<U>*) {}(static_cast<T*>(nullptr)); }) {
    return refers_to_memory<typename T::value_type>();
  } else if constexpr (iterator_like<T>) {
    return true;
  } else if constexpr (std::is_aggregate_v<T> && std::is_trivially_copyable_v<T> && sizeof(T) >= sizeof(void*) &&
                       alignof(T) >= alignof(void*)) {
    return has_reference_part<T>();
  } else {
    return false;
  }
}

/// Whether a value of this type that is copied as bytes may hold an address that the compiler does not see.
template <class T>
constexpr bool may_hide_address() {
  if constexpr (!std::is_class_v<T> && !std::is_union_v<T>) {
    return false;
  } else if constexpr (requires { []<class U, std::size_t N>(const std::array<U, N>*) {}(static_cast<T*>(nullptr)); }) {
    return may_hide_address<typename T::value_type>();
  } else if constexpr (sizeof(T) < sizeof(void*) || alignof(T) < alignof(void*)) {
    return false;
  } else if constexpr (std::is_aggregate_v<T>) {
    return !has_only_scalars<T>();
  } else {
    return true;
  }
}

}  // namespace imbrex::detail
