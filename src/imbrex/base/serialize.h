#pragma once

#include <complex>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>

#include "imbrex/base/address_watch.h"
#include "imbrex/base/archive.h"
#include "imbrex/base/error.h"
#include "imbrex/base/memory/resize_unfilled.h"
#include "imbrex/base/pointer_members.h"
#include "imbrex/base/serialize_traits.h"
#include "imbrex/base/type_digest.h"
#include "imbrex/base/type_name.h"

/// Serialisation with the member signature of cereal and Boost, so that users' types work unchanged:
///
///     template <class Archive> void serialize(Archive& ar) { ar & position & velocity; }   // or ar(a, b)
///
/// or a free `serialize(Archive&, T&)` found by argument-dependent look-up. Trivially copyable types without
/// either are copied as bytes; those that refer to memory do not compile (pointer_members.h). `unique_ptr` and
/// `shared_ptr` send what they own; objects of derived classes travel whole once their classes are registered
/// (polymorphic.h). All ranks of a job share one architecture, so numbers travel in native byte order; sizes are 64
/// bits.
///
/// What arrives is not believed: counts, flags, indices of variants and the length as a whole are checked, and bytes
/// that do not fit are a `comm_error`. Enumerations and what is copied as bytes have any value.
namespace imbrex {

namespace detail {

/// What is copied as bytes must mean the same on another rank.
template <class T>
constexpr void check_bitwise() {
  constexpr bool by_itself = std::is_pointer_v<T> || is_view<T>::value || iterator_like<T>;
  static_assert(!by_itself,
                "imbrex: a pointer, view or iterator means nothing on another rank: send what it refers to, such as a "
                "std::string for a string_view or a std::vector for a span");
  static_assert(by_itself || !refers_to_memory<T>(),
                "imbrex: this type has a pointer or view among its members, which means nothing on another rank; give "
                "it a serialize that sends what they refer to, or let it own that (std::string, std::vector, "
                "std::unique_ptr)");
}

/// Where ranks share a process, addresses in what is copied as bytes would go unnoticed.
template <class Archive, class T>
void look_for_addresses(Archive&, const T* values, std::size_t n) {
  // Archives of other layers that write, besides those that only count, say so.
  constexpr bool writes = std::is_same_v<Archive, output_archive> || requires { requires !Archive::only_counts; };
  if constexpr (writes && may_hide_address<T>()) {
    if (address_watch::is_on()) [[unlikely]]
      address_watch::look(values, n * sizeof(T), sizeof(T), type_name<T>());
  }
}

/// For archives that ask which members of an object are read: what has a serialize of its own tells that by these.
template <class Archive, class T>
void note_seen(Archive& ar, const T& value) {
  if constexpr (requires { ar.sees(&value, sizeof value); }) {
    if constexpr (!has_member_serialize<T, Archive> && !has_free_serialize<T, Archive> && !is_pair_or_tuple<T>::value)
      ar.sees(&value, sizeof value);
  }
}

template <class Archive>
std::uint64_t serialize_count(Archive& ar, std::size_t count) {
  std::uint64_t n = count;
  ar.bytes(&n, sizeof n);
  return n;
}

/// Set in the number of elements of an array that has been left out.
inline constexpr std::uint64_t left_out_bit = std::uint64_t{1} << 63;

/// A vector or string of elements that are copied as bytes.
template <bool Beside, class Archive, class Container>
void serialize_elements(Archive& ar, Container& c) {
  using value = typename Container::value_type;
  if constexpr (Archive::is_loading) {
    const std::uint64_t n = serialize_count(ar, 0);
    if constexpr (Beside) {
      if ((n & left_out_bit) != 0 && ar.may_be_left_out()) {
        if ((n & ~left_out_bit) > c.max_size()) [[unlikely]]
          throw_too_many_elements(n & ~left_out_bit, ar.bytes_left());
        resize_unfilled(c, n & ~left_out_bit);
        return ar.leave_out(reinterpret_cast<std::byte*>(c.data()), c.size() * sizeof(value));
      }
    }
    ar.check_count(n, sizeof(value));
    resize_unfilled(c, n);
    ar.bytes(c.data(), n * sizeof(value));
  } else {
    const std::uint64_t n = c.size();
    if constexpr (Beside) {
      if (ar.keeps_out(n * sizeof(value))) {
        serialize_count(ar, n | left_out_bit);
        return ar.leave_out(reinterpret_cast<std::byte*>(c.data()), n * sizeof(value));
      }
    }
    serialize_count(ar, n);
    ar.bytes(c.data(), n * sizeof(value));
  }
}

/// Elements are made as they come, so that a count alone takes no memory; where something in them may come later they
/// must not move, and the count says how many there will be.
template <bool Beside, class Archive, class Container>
void read_contiguous(Archive& ar, Container& c) {
  using value = typename Container::value_type;
  const std::uint64_t n = serialize_count(ar, 0);
  ar.check_count(n, least_bytes<value>());
  if constexpr (!(Beside && may_leave_out<value>) && requires { c.reserve(n), c.emplace_back(), c.clear(); }) {
    c.clear();
    c.reserve(std::min<std::uint64_t>(n, 64 + 4 * ar.bytes_left() / sizeof(value)));
    for (std::uint64_t i = 0; i < n; ++i) serialize_value<Beside>(ar, c.emplace_back());
  } else {
    c.resize(n);
    for (auto& element : c) serialize_value<Beside>(ar, element);
  }
}

template <bool Beside, class Archive, class Container>
void serialize_contiguous(Archive& ar, Container& c) {
  using value = typename Container::value_type;
  if constexpr (is_bitwise<value> && !std::is_same_v<value, bool>) {
    check_bitwise<value>();
    note_type<value>(ar);
    if constexpr (!Archive::is_loading) look_for_addresses(ar, c.data(), c.size());
    serialize_elements<Beside>(ar, c);
  } else if constexpr (Archive::is_loading) {
    read_contiguous<Beside>(ar, c);
  } else {
    serialize_count(ar, c.size());
    for (auto& element : c) serialize_value<Beside>(ar, element);
  }
}

/// A large object that is copied as bytes.
template <class Archive, class T>
void serialize_large_object(Archive& ar, T& value) {
  auto* const data = reinterpret_cast<std::byte*>(&value);
  if constexpr (Archive::is_loading) {
    if ((serialize_count(ar, 0) & left_out_bit) != 0 && ar.may_be_left_out()) return ar.leave_out(data, sizeof(T));
  } else {
    const bool out = ar.keeps_out(sizeof(T));
    serialize_count(ar, out ? left_out_bit : 0);
    if (out) return ar.leave_out(data, sizeof(T));
  }
  ar.bytes(data, sizeof(T));
}

/// One byte, 0 or 1.
template <class Archive>
bool serialize_flag(Archive& ar, bool flag) {
  unsigned char byte = flag ? 1 : 0;
  ar.bytes(&byte, 1);
  if constexpr (Archive::is_loading) {
    if (byte > 1) [[unlikely]]
      throw_wrong_value("the flag", byte, 2);
  }
  return byte != 0;
}

template <class Archive>
void serialize_bools(Archive& ar, std::vector<bool>& c) {
  const std::uint64_t n = serialize_count(ar, c.size());
  if constexpr (Archive::is_loading) {
    ar.check_count(n, 1);
    c.resize(n);
  }
  for (std::uint64_t i = 0; i < n; ++i) c[i] = serialize_flag(ar, c[i]);
}

template <class Archive, class Container>
void serialize_sequence(Archive& ar, Container& c) {
  const std::uint64_t n = serialize_count(ar, c.size());
  if constexpr (Archive::is_loading) {
    ar.check_count(n, least_bytes<typename Container::value_type>());
    c.clear();
    for (std::uint64_t i = 0; i < n; ++i) serialize_value(ar, c.emplace_back());
  } else {
    for (auto& element : c) serialize_value(ar, element);
  }
}

template <class Archive, class Container>
void serialize_associative(Archive& ar, Container& c) {
  const std::uint64_t n = serialize_count(ar, c.size());
  if constexpr (Archive::is_loading) {
    c.clear();
    if constexpr (requires { typename Container::mapped_type; }) {
      ar.check_count(n, least_bytes<typename Container::key_type>() + least_bytes<typename Container::mapped_type>());
    } else {
      ar.check_count(n, least_bytes<typename Container::key_type>());
    }
    for (std::uint64_t i = 0; i < n; ++i) {
      if constexpr (requires { typename Container::mapped_type; }) {
        typename Container::key_type key{};
        typename Container::mapped_type mapped{};
        serialize_value(ar, key);
        serialize_value(ar, mapped);
        c.emplace(std::move(key), std::move(mapped));
      } else {
        typename Container::key_type key{};
        serialize_value(ar, key);
        c.emplace(std::move(key));
      }
    }
  } else {
    for (auto& element : c) {
      if constexpr (requires { typename Container::mapped_type; }) {
        serialize_value(ar, const_cast<typename Container::key_type&>(element.first));
        serialize_value(ar, const_cast<typename Container::mapped_type&>(element.second));
      } else {
        serialize_value(ar, const_cast<typename Container::key_type&>(element));
      }
    }
  }
}

template <bool Beside, class Archive, class... T>
void serialize_variant(Archive& ar, std::variant<T...>& v) {
  std::uint64_t index = serialize_count(ar, v.index());
  if constexpr (Archive::is_loading) {
    if (index >= sizeof...(T)) [[unlikely]]
      throw_wrong_value("the variant index", index, sizeof...(T));
    std::uint64_t i = 0;
    ((i++ == index ? (v.template emplace<T>(), void()) : void()), ...);
  }
  std::visit([&ar](auto& alternative) { serialize_value<Beside>(ar, alternative); }, v);
}

template <bool Beside, class Archive, class T>
void serialize_maybe(Archive& ar, T& holder) {
  const bool present = serialize_flag(ar, static_cast<bool>(holder));
  if constexpr (Archive::is_loading) {
    if (!present) {
      holder = T{};
      return;
    }
    if constexpr (is_optional<T>::value) {
      serialize_value<Beside>(ar, holder.emplace());
    } else {
      auto made = std::make_unique<std::remove_const_t<typename T::element_type>>();
      auto& object = *made;
      holder = std::move(made);
      serialize_value<Beside>(ar, object);
    }
  } else if (present) {
    serialize_value<Beside>(ar, const_cast<std::remove_cvref_t<decltype(*holder)>&>(*holder));
  }
}

template <class Archive, class T>
void serialize_polymorphic(Archive& ar, T& holder);  // polymorphic.h

template <bool Beside, class Archive, class T>
void serialize_value(Archive& ar, T& value) {
  note_seen(ar, value);
  if constexpr (has_member_serialize<T, Archive>) {
    value.serialize(ar);
  } else if constexpr (has_free_serialize<T, Archive>) {
    serialize(ar, value);
  } else if constexpr (is_bitwise<T>) {
    check_bitwise<T>();
    note_type<T>(ar);
    if constexpr (!Archive::is_loading) look_for_addresses(ar, &value, 1);
    if constexpr (Beside && is_large_object<T>) {
      serialize_large_object(ar, value);
    } else if constexpr (std::is_same_v<T, bool>) {
      value = serialize_flag(ar, value);
    } else if constexpr (std::is_empty_v<T>) {
      unsigned char nothing = 0;  // its one byte has no value
      ar.bytes(&nothing, sizeof(T));
    } else {
      ar.bytes(&value, sizeof(T));
    }
  } else if constexpr (is_pair_or_tuple<T>::value) {
    std::apply(
        [&ar](auto&... part) {
          (serialize_value<Beside>(ar, const_cast<std::remove_cvref_t<decltype(part)>&>(part)), ...);
        },
        value);
  } else if constexpr (is_std_array<T>::value) {
    for (auto& element : value) serialize_value<Beside>(ar, element);
  } else if constexpr (is_optional<T>::value) {
    serialize_maybe<Beside>(ar, value);
  } else if constexpr (is_owner<T>::value) {
    if constexpr (is_base_of_others<typename T::element_type>) {
      serialize_polymorphic(ar, value);
    } else {
      serialize_maybe<Beside>(ar, value);
    }
  } else if constexpr (is_variant<T>::value) {
    serialize_variant<Beside>(ar, value);
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    serialize_bools(ar, value);
  } else if constexpr (contiguous_container<T>) {
    serialize_contiguous<Beside>(ar, value);
  } else if constexpr (sequence_container<T>) {
    serialize_sequence(ar, value);
  } else if constexpr (associative_container<T>) {
    serialize_associative(ar, value);
  } else {
    static_assert(always_false<T>,
                  "imbrex: this type cannot travel in a message; give it "
                  "`template <class Archive> void serialize(Archive& ar) { ar & member & ...; }`");
  }
}

template <class T>
struct beside_value {
  T& value;
  template <class Archive>
  void serialize(Archive& ar) {
    serialize_value<may_leave_out<std::remove_const_t<T>>>(ar, const_cast<std::remove_const_t<T>&>(value));
  }
};

}  // namespace detail

/// Written as `value` is, except that large arrays in it may be left out of the bytes: vectors, strings and objects
/// that are copied as bytes, also inside vectors, tuples, optionals, variants and the like; not inside what has a
/// serialize of its own, which may look at what it reads. For the bodies of messages: `ar & index & beside(arguments)`.
/// When such a value has been read its arrays have their sizes, but not their contents yet, and it must stay where it
/// is until they have come.
template <class T>
detail::beside_value<T> beside(T& value) {
  return {value};
}

namespace detail {
template <class T>
struct transient_member {
  T& member;
  template <class Archive>
  void serialize(Archive& ar) {
    if constexpr (requires { ar.sees(&member, sizeof member); }) ar.sees(&member, sizeof member);
  }
};
}  // namespace detail

/// `ar & ix::transient(cache)` in a `serialize`: the member is no part of the state. Nothing is written or read; a copy
/// has what its default constructor made of it. Says so to readers, and to `--imbrex-check-serialize`.
template <class T>
detail::transient_member<T> transient(T& member) {
  return {member};
}

/// The bytes that `values`, written one after the other, take.
template <class... T>
std::size_t serialized_size(const T&... values) {
  sizing_archive ar;
  (void)(ar & ... & values);
  return ar.size();
}

/// `value` as bytes.
template <class T>
std::vector<std::byte> to_bytes(const T& value) {
  std::vector<std::byte> bytes(serialized_size(value));
  output_archive ar(bytes.data());
  ar & value;
  return bytes;
}

/// Reads `value` from bytes that `to_bytes` wrote. Throws `comm_error` when they are too few or too many, or are none
/// of its values.
template <class T>
void from_bytes(const std::vector<std::byte>& bytes, T& value) {
  input_archive ar(bytes.data(), bytes.size());
  ar & value;
  if (ar.bytes_left() != 0) [[unlikely]]
    detail::throw_left_over(detail::type_name<T>(), ar.bytes_left());
}

}  // namespace imbrex

#include "imbrex/base/polymorphic.h"
