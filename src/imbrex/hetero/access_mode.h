#pragma once

#include <cstdint>

namespace imbrex {

/// What a task or a view does with an object (Thomadakis and Chrisochoides 2024, 3.1.2; `commute` as in StarPU): one of
/// the members, each of a type of its own, so that what is made with it can depend on it.
struct access_mode {
  enum class kind : std::uint32_t { read, write, read_write, commute };
  template <kind Which>
  struct constant {
    constexpr operator access_mode() const;  // NOLINT(google-explicit-constructor)
  };

  static constexpr constant<kind::read> read{};    ///< reads only: others may read meanwhile
  static constexpr constant<kind::write> write{};  ///< overwrites all of it: what was there is not brought along
  static constexpr constant<kind::read_write> read_write{};  ///< changes it
  static constexpr constant<kind::commute> commute{};  ///< changes it, one at a time of those that do, in any order

  kind which = kind::read;
  friend constexpr bool operator==(access_mode, access_mode) = default;
};

template <access_mode::kind Which>
constexpr access_mode::constant<Which>::operator access_mode() const {
  return {Which};
}

/// Whether a task of this access sees what was there before, changes it, or may change places with others that do.
constexpr bool reads(access_mode a) { return a.which != access_mode::kind::write; }
constexpr bool writes(access_mode a) { return a.which != access_mode::kind::read; }
constexpr bool commutes(access_mode a) { return a.which == access_mode::kind::commute; }

/// "read", "write", "read_write" or "commute".
constexpr const char* to_string(access_mode a) {
  constexpr const char* names[] = {"read", "write", "read_write", "commute"};
  return names[static_cast<int>(a.which)];
}

/// What a copy of an object is worth.
enum class coherence {
  invalid,    ///< nothing: another copy is newer
  shared,     ///< the newest data, and other copies are as new
  exclusive,  ///< the newest data, and no other copy is
};

}  // namespace imbrex
