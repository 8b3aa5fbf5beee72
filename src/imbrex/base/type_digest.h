#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "imbrex/base/archive.h"

namespace imbrex {

/// Of which types something was written, one after the other: what is read as others is noticed where the bytes are as
/// many. Bytes that are copied are told apart as floating-point numbers, integers (signed or not, enumerations, bool)
/// and others, and by their size; how many there are in an array is not part of it.
class type_digest {
 public:
  template <class T>
  void note() {
    value_ = (value_ ^ code<T>()) * 0x9e3779b1U;
    value_ ^= value_ >> 15;
  }
  std::uint32_t value() const { return value_; }

 private:
  template <class T>
  static constexpr std::uint32_t code() {
    constexpr std::uint32_t kind = std::is_floating_point_v<T> ? 1 : std::is_integral_v<T> || std::is_enum_v<T> ? 2 : 3;
    return kind << 30U ^ static_cast<std::uint32_t>(sizeof(T));
  }
  std::uint32_t value_ = 0;
};

namespace detail {

template <class T, class Archive>
void note_type(Archive& ar) {
  if constexpr (requires { ar.types(); }) ar.types().template note<T>();
}

/// As `output_archive`, with the digest.
class typed_output : public archive_base<typed_output> {
 public:
  static constexpr bool is_loading = false;
  static constexpr bool only_counts = false;
  explicit typed_output(std::byte* to) : to_(to) {}
  void bytes(const void* from, std::size_t n) { to_.bytes(from, n); }
  type_digest& types() { return types_; }

 private:
  output_archive to_;
  type_digest types_;
};

/// As `input_archive`, with the digest.
class typed_input : public archive_base<typed_input> {
 public:
  static constexpr bool is_loading = true;
  explicit typed_input(std::span<const std::byte> from) : from_(from.data(), from.size()) {}
  void bytes(void* to, std::size_t n) { from_.bytes(to, n); }
  std::size_t bytes_left() const { return from_.bytes_left(); }
  void check_count(std::uint64_t n, std::uint64_t least_bytes) const { from_.check_count(n, least_bytes); }
  type_digest& types() { return types_; }

 private:
  input_archive from_;
  type_digest types_;
};

/// The bytes of a value, and the digest that follows them.
struct typed_bytes {
  std::span<const std::byte> bytes;
  std::uint32_t types = 0;
};
inline typed_bytes split_typed(std::span<const std::byte> all) {
  typed_bytes parts;
  if (all.size() < sizeof parts.types) throw_too_short();
  parts.bytes = all.first(all.size() - sizeof parts.types);
  std::memcpy(&parts.types, all.data() + parts.bytes.size(), sizeof parts.types);
  return parts;
}

}  // namespace detail

}  // namespace imbrex
