#pragma once

#include <array>
#include <bit>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "imbrex/base/error.h"
#include "imbrex/base/resize_unfilled.h"

/// Serialisation with the member signature of cereal and Boost, so that users' types work unchanged:
///
///     template <class Archive> void serialize(Archive& ar) { ar & position & velocity; }   // or ar(a, b)
///
/// or a free `serialize(Archive&, T&)` found by argument-dependent look-up. Trivially copyable types without
/// either are copied as bytes (never write pointers that way). All ranks of a job share one architecture, so
/// numbers travel in native byte order; sizes are 64 bits.
namespace imbrex {

class sizing_archive;
class output_archive;
class input_archive;

namespace detail {

template <class T, class Archive>
concept has_member_serialize = requires(T& t, Archive& ar) { t.serialize(ar); };
template <class T, class Archive>
concept has_free_serialize = requires(T& t, Archive& ar) { serialize(ar, t); };

template <class T>
inline constexpr bool always_false = false;

template <class Archive, class T>
void serialize_value(Archive& ar, T& value);

/// What all archives share: `ar & x`, `ar(x, y)`.
template <class Derived>
class archive_base {
 public:
  template <class T>
  Derived& operator&(T&& value) {
    serialize_value(self(), const_cast<std::remove_cvref_t<T>&>(value));
    return self();
  }
  template <class... T>
  Derived& operator()(T&&... values) {
    (void)(self() & ... & values);
    return self();
  }

 private:
  Derived& self() { return static_cast<Derived&>(*this); }
};

}  // namespace detail

/// Counts the bytes that `output_archive` will write.
class sizing_archive : public detail::archive_base<sizing_archive> {
 public:
  static constexpr bool is_loading = false;
  void bytes(const void*, std::size_t n) { size_ += n; }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

/// Writes into memory the caller owns, which must be as large as `sizing_archive` said.
class output_archive : public detail::archive_base<output_archive> {
 public:
  static constexpr bool is_loading = false;
  explicit output_archive(std::byte* to) : to_(to) {}
  void bytes(const void* from, std::size_t n) {
    if (n == 0) return;
    std::memcpy(to_, from, n);
    to_ += n;
  }

 private:
  std::byte* to_;
};

/// Reads from memory the caller owns; throws `comm_error` when asked for more than is there.
class input_archive : public detail::archive_base<input_archive> {
 public:
  static constexpr bool is_loading = true;
  input_archive(const std::byte* from, std::size_t size) : from_(from), left_(size) {}
  void bytes(void* to, std::size_t n) {
    if (n > left_) {
      throw comm_error("a message ended before its last argument: the two sides disagree about a type's serialize");
    }
    if (n == 0) return;
    std::memcpy(to, from_, n);
    from_ += n;
    left_ -= n;
  }
  std::size_t bytes_left() const { return left_; }

 private:
  const std::byte* from_;
  std::size_t left_;
};

namespace detail {

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

template <class T>
struct is_unique_ptr : std::false_type {};
template <class T>
struct is_unique_ptr<std::unique_ptr<T>> : std::true_type {};

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

/// Copied as bytes: no serialize of its own, trivially copyable, and no pointer.
template <class T>
inline constexpr bool is_bitwise = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                                   !has_member_serialize<T, sizing_archive> && !has_free_serialize<T, sizing_archive> &&
                                   !is_pair_or_tuple<T>::value && !is_optional<T>::value && !is_variant<T>::value;

template <class Archive>
std::uint64_t serialize_count(Archive& ar, std::size_t count) {
  std::uint64_t n = count;
  ar.bytes(&n, sizeof n);
  return n;
}

template <class Archive, class Container>
void serialize_contiguous(Archive& ar, Container& c) {
  using value = typename Container::value_type;
  const std::uint64_t n = serialize_count(ar, c.size());
  if constexpr (is_bitwise<value> && !std::is_same_v<value, bool>) {
    if constexpr (Archive::is_loading) {
      if (n > ar.bytes_left() / sizeof(value)) {
        throw comm_error("a message names more elements than it holds: the two sides disagree about a type");
      }
      resize_unfilled(c, n);
    }
    ar.bytes(c.data(), n * sizeof(value));
  } else {
    if constexpr (Archive::is_loading) c.resize(n);
    for (auto& element : c) serialize_value(ar, element);
  }
}

template <class Archive>
void serialize_bools(Archive& ar, std::vector<bool>& c) {
  const std::uint64_t n = serialize_count(ar, c.size());
  if constexpr (Archive::is_loading) c.resize(n);
  for (std::uint64_t i = 0; i < n; ++i) {
    char bit = c[i] ? 1 : 0;
    ar.bytes(&bit, 1);
    c[i] = bit != 0;
  }
}

template <class Archive, class Container>
void serialize_sequence(Archive& ar, Container& c) {
  const std::uint64_t n = serialize_count(ar, c.size());
  if constexpr (Archive::is_loading) {
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

template <class Archive, class... T>
void serialize_variant(Archive& ar, std::variant<T...>& v) {
  std::uint64_t index = serialize_count(ar, v.index());
  if constexpr (Archive::is_loading) {
    std::uint64_t i = 0;
    ((i++ == index ? (v.template emplace<T>(), void()) : void()), ...);
  }
  std::visit([&ar](auto& alternative) { serialize_value(ar, alternative); }, v);
}

template <class Archive, class T>
void serialize_maybe(Archive& ar, T& holder) {
  char present = static_cast<bool>(holder) ? 1 : 0;
  ar.bytes(&present, 1);
  if constexpr (Archive::is_loading) {
    if (present == 0) {
      holder = T{};
      return;
    }
    if constexpr (is_optional<T>::value) {
      holder.emplace();
    } else {
      holder = std::make_unique<typename T::element_type>();
    }
  }
  if (present != 0) serialize_value(ar, *holder);
}

template <class Archive, class T>
void serialize_value(Archive& ar, T& value) {
  if constexpr (has_member_serialize<T, Archive>) {
    value.serialize(ar);
  } else if constexpr (has_free_serialize<T, Archive>) {
    serialize(ar, value);
  } else if constexpr (is_bitwise<T>) {
    ar.bytes(&value, sizeof(T));
  } else if constexpr (is_pair_or_tuple<T>::value) {
    std::apply(
        [&ar](auto&... part) { (serialize_value(ar, const_cast<std::remove_cvref_t<decltype(part)>&>(part)), ...); },
        value);
  } else if constexpr (is_std_array<T>::value) {
    for (auto& element : value) serialize_value(ar, element);
  } else if constexpr (is_optional<T>::value || is_unique_ptr<T>::value) {
    serialize_maybe(ar, value);
  } else if constexpr (is_variant<T>::value) {
    serialize_variant(ar, value);
  } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
    serialize_bools(ar, value);
  } else if constexpr (contiguous_container<T>) {
    serialize_contiguous(ar, value);
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

}  // namespace detail

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

/// Reads `value` from bytes that `to_bytes` wrote. Throws `comm_error` when they are too few.
template <class T>
void from_bytes(const std::vector<std::byte>& bytes, T& value) {
  input_archive ar(bytes.data(), bytes.size());
  ar & value;
}

}  // namespace imbrex
