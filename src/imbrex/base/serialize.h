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

/// `Beside`: whether large arrays in it may travel beside the message (see `beside`).
template <bool Beside = false, class Archive, class T>
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

/// An array that belongs to a serialised value, but travels beside its bytes: straight from the memory of the object
/// that was written to that of the object that is read.
struct large_block {
  std::uint64_t id = 0;  ///< by which the two find each other
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
};

/// As the size up to which arrays are written among the other bytes: always.
inline constexpr std::uint64_t any_size = ~std::uint64_t{0};

/// Counts the bytes that `output_archive` will write.
class sizing_archive : public detail::archive_base<sizing_archive> {
 public:
  static constexpr bool is_loading = false;
  /// Arrays of more than `largest_inside` bytes that may stay out do.
  explicit sizing_archive(std::uint64_t largest_inside = any_size) : largest_inside_(largest_inside) {}
  void bytes(const void*, std::size_t n) { size_ += n; }
  std::size_t size() const { return size_; }

  bool keeps_out(std::uint64_t n) const { return n > largest_inside_; }
  void leave_out(std::byte*, std::uint64_t) {
    size_ += sizeof(large_block::id);
    ++num_left_out_;
  }
  std::size_t num_left_out() const { return num_left_out_; }

 private:
  const std::uint64_t largest_inside_;
  std::size_t size_ = 0;
  std::size_t num_left_out_ = 0;
};

/// Writes into memory the caller owns, which must be as large as `sizing_archive` said.
class output_archive : public detail::archive_base<output_archive> {
 public:
  static constexpr bool is_loading = false;
  explicit output_archive(std::byte* to) : to_(to) {}
  /// The arrays that a `sizing_archive` of the same `largest_inside` left out are listed in `left_out`, with ids from
  /// `first_id` on.
  output_archive(std::byte* to, std::uint64_t largest_inside, std::uint64_t first_id,
                 std::vector<large_block>& left_out)
      : to_(to), largest_inside_(largest_inside), next_id_(first_id), left_out_(&left_out) {}
  void bytes(const void* from, std::size_t n) {
    if (n == 0) return;
    std::memcpy(to_, from, n);
    to_ += n;
  }

  bool keeps_out(std::uint64_t n) const { return n > largest_inside_; }
  void leave_out(std::byte* data, std::uint64_t n) {
    bytes(&next_id_, sizeof next_id_);
    left_out_->push_back({next_id_++, data, n});
  }

 private:
  std::byte* to_;
  std::uint64_t largest_inside_ = any_size;
  std::uint64_t next_id_ = 0;
  std::vector<large_block>* left_out_ = nullptr;
};

/// Reads from memory the caller owns; throws `comm_error` when asked for more than is there.
class input_archive : public detail::archive_base<input_archive> {
 public:
  static constexpr bool is_loading = true;
  /// What was left out is listed in `left_out`, with room for it in the value that is read; null: nothing may have
  /// been.
  input_archive(const std::byte* from, std::size_t size, std::vector<large_block>* left_out = nullptr)
      : from_(from), left_(size), left_out_(left_out) {}
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

  bool may_be_left_out() const { return left_out_ != nullptr; }
  void leave_out(std::byte* data, std::uint64_t n) {
    large_block b{0, data, n};
    bytes(&b.id, sizeof b.id);
    left_out_->push_back(b);
  }

 private:
  const std::byte* from_;
  std::size_t left_;
  std::vector<large_block>* left_out_;
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

/// An object, such as a std::array, of a size that may be left out of a message.
template <class T>
inline constexpr bool is_large_object = is_bitwise<T> && sizeof(T) > 4096;

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
        resize_unfilled(c, n & ~left_out_bit);
        return ar.leave_out(reinterpret_cast<std::byte*>(c.data()), c.size() * sizeof(value));
      }
    }
    if (n > ar.bytes_left() / sizeof(value)) {
      throw comm_error("a message names more elements than it holds: the two sides disagree about a type");
    }
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

template <bool Beside, class Archive, class Container>
void serialize_contiguous(Archive& ar, Container& c) {
  using value = typename Container::value_type;
  if constexpr (is_bitwise<value> && !std::is_same_v<value, bool>) {
    serialize_elements<Beside>(ar, c);
  } else {
    const std::uint64_t n = serialize_count(ar, c.size());
    if constexpr (Archive::is_loading) c.resize(n);
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

template <bool Beside, class Archive, class... T>
void serialize_variant(Archive& ar, std::variant<T...>& v) {
  std::uint64_t index = serialize_count(ar, v.index());
  if constexpr (Archive::is_loading) {
    std::uint64_t i = 0;
    ((i++ == index ? (v.template emplace<T>(), void()) : void()), ...);
  }
  std::visit([&ar](auto& alternative) { serialize_value<Beside>(ar, alternative); }, v);
}

template <bool Beside, class Archive, class T>
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
  if (present != 0) serialize_value<Beside>(ar, *holder);
}

template <bool Beside, class Archive, class T>
void serialize_value(Archive& ar, T& value) {
  if constexpr (has_member_serialize<T, Archive>) {
    value.serialize(ar);
  } else if constexpr (has_free_serialize<T, Archive>) {
    serialize(ar, value);
  } else if constexpr (Beside && is_large_object<T>) {
    serialize_large_object(ar, value);
  } else if constexpr (is_bitwise<T>) {
    ar.bytes(&value, sizeof(T));
  } else if constexpr (is_pair_or_tuple<T>::value) {
    std::apply(
        [&ar](auto&... part) {
          (serialize_value<Beside>(ar, const_cast<std::remove_cvref_t<decltype(part)>&>(part)), ...);
        },
        value);
  } else if constexpr (is_std_array<T>::value) {
    for (auto& element : value) serialize_value<Beside>(ar, element);
  } else if constexpr (is_optional<T>::value || is_unique_ptr<T>::value) {
    serialize_maybe<Beside>(ar, value);
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
