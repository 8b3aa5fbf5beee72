#pragma once

#include <cstdint>

namespace imbrex {

/// What a task or a view does with an object (Thomadakis and Chrisochoides 2024, 3.1.2).
enum class access_mode {
  read,        ///< reads only: others may read meanwhile
  write,       ///< overwrites all of it: what was there is not brought along
  read_write,  ///< changes it
};

constexpr bool reads(access_mode a) { return a != access_mode::write; }
constexpr bool writes(access_mode a) { return a != access_mode::read; }

constexpr const char* to_string(access_mode a) {
  return a == access_mode::read ? "read" : a == access_mode::write ? "write" : "read_write";
}

/// What a copy of an object is worth.
enum class coherence {
  invalid,    ///< nothing: another copy is newer
  shared,     ///< the newest data, and other copies are as new
  exclusive,  ///< the newest data, and no other copy is
};

}  // namespace imbrex
