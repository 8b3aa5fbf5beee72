#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "imbrex/base/archive.h"

/// How values of a type travel, as serialize.h tells types apart.
namespace imbrex::detail {

template <class T, class Archive>
concept has_member_serialize = requires(T& t, Archive& ar) { t.serialize(ar); };
template <class T, class Archive>
concept has_free_serialize = requires(T& t, Archive& ar) { serialize(ar, t); };

template <class T>
inline constexpr bool always_false = false;

template <class T>
struct is_pair_or_tuple : std::false_type {};
template <class A, class B>
struct is_pair_or_tuple<std::pair<A, B>> : std::true_type {};
template <class... T>
struct is_pair_or_tuple<std::tuple<T...>> : std::true_type {};

template <class T>
struct is_std_array : std::false_type {};
template <class T, std::size_t N>
struct is_std_array<std::array<T, N>> : std::true_type {};

template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <class T>
struct is_variant : std::false_type {};
template <class... T>
struct is_variant<std::variant<T...>> : std::true_type {};

/// A class of which a pointer may own an object of a derived class.
template <class T>
inline constexpr bool is_base_of_others = std::is_polymorphic_v<T> && !std::is_final_v<T>;

/// A pointer that owns one object.
template <class T>
struct is_owner : std::false_type {};
template <class T>
  requires(!std::is_array_v<T>)
struct is_owner<std::unique_ptr<T>> : std::true_type {};
template <class T>
  requires(!std::is_array_v<T>)
struct is_owner<std::shared_ptr<T>> : std::true_type {};

template <class T>
concept contiguous_container = requires(T& t) {
  t.resize(std::size_t{});
  t.data();
  typename T::value_type;
};
template <class T>
concept sequence_container = requires(T& t) {
  t.clear();
  t.emplace_back();
  typename T::value_type;
};
template <class T>
concept associative_container = requires(T& t) {
  typename T::key_type;
  typename T::value_type;
  t.clear();
};

/// Copied as bytes: no serialize of its own, trivially copyable. What refers to memory is refused (pointer_members.h).
template <class T>
inline constexpr bool is_bitwise = std::is_trivially_copyable_v<T> && !has_member_serialize<T, sizing_archive> &&
                                   !has_free_serialize<T, sizing_archive> && !is_pair_or_tuple<T>::value &&
                                   !is_optional<T>::value && !is_variant<T>::value;

/// An object, such as a std::array, of a size that may be left out of a message.
template <class T>
inline constexpr bool is_large_object = is_bitwise<T> && sizeof(T) > 4096;

/// The fewest bytes that a value of type T takes in a message; 0 where its own serialize decides.
template <class T>
constexpr std::uint64_t least_bytes() {
  constexpr std::uint64_t count = sizeof(std::uint64_t);
  if constexpr (has_member_serialize<T, sizing_archive> || has_free_serialize<T, sizing_archive>) {
    return 0;
  } else if constexpr (is_bitwise<T>) {
    return is_large_object<T> ? 2 * count : sizeof(T);
  } else if constexpr (is_pair_or_tuple<T>::value) {
    return []<class... P>(std::type_identity<std::tuple<P...>>) {
      return (std::uint64_t{0} + ... + least_bytes<P>());
    }(std::type_identity<decltype(std::tuple_cat(std::declval<T>()))>());
  } else if constexpr (is_std_array<T>::value) {
    return std::tuple_size_v<T> * least_bytes<typename T::value_type>();
  } else if constexpr (is_optional<T>::value || is_owner<T>::value) {
    return 1;
  } else if constexpr (is_variant<T>::value) {
    return []<class... P>(std::type_identity<std::variant<P...>>) {
      return count + std::min({least_bytes<P>()...});
    }(std::type_identity<T>());
  } else {
    return count;  // a container
  }
}

/// Whether a value of type T may hold arrays that `beside` leaves out.
template <class T>
inline constexpr bool may_leave_out = is_large_object<T>;
template <class T, class A>
inline constexpr bool may_leave_out<std::vector<T, A>> =
    !std::is_same_v<T, bool> && (is_bitwise<T> || may_leave_out<T>);
template <class C, class T, class A>
inline constexpr bool may_leave_out<std::basic_string<C, T, A>> = true;
template <class T, std::size_t N>
inline constexpr bool may_leave_out<std::array<T, N>> = may_leave_out<T> || is_large_object<std::array<T, N>>;
template <class A, class B>
inline constexpr bool may_leave_out<std::pair<A, B>> = may_leave_out<A> || may_leave_out<B>;
template <class... T>
inline constexpr bool may_leave_out<std::tuple<T...>> = (false || ... || may_leave_out<T>);
template <class... T>
inline constexpr bool may_leave_out<std::variant<T...>> = (false || ... || may_leave_out<T>);
template <class T>
inline constexpr bool may_leave_out<std::optional<T>> = may_leave_out<T>;
template <class T>
inline constexpr bool may_leave_out<std::unique_ptr<T>> = may_leave_out<T>;
template <class T>
inline constexpr bool may_leave_out<std::shared_ptr<T>> = may_leave_out<std::remove_const_t<T>>;

}  // namespace imbrex::detail
