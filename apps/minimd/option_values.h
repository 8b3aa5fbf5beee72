#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "imbrex/base/error.h"

/// Values of options: each is checked, and refused with usage_error, which has the value and the remedy.
namespace md {

[[noreturn]] inline void refuse_option(const std::string& what) { throw imbrex::usage_error(what); }

/// The one of two values whose name is `text`.
template <class Value>
Value read_word(const char* option, const std::string& text, std::pair<const char*, Value> first,
                std::pair<const char*, Value> second, std::pair<const char*, Value> third) {
  for (const auto& one : {first, second, third})
    if (text == one.first) return one.second;
  refuse_option(
      fmt::format("{} {} is unknown: use {}, {} or {}", option, text, first.first, second.first, third.first));
}
template <class Value>
Value read_word(const char* option, const std::string& text, std::pair<const char*, Value> first,
                std::pair<const char*, Value> second) {
  for (const auto& one : {first, second})
    if (text == one.first) return one.second;
  refuse_option(fmt::format("{} {} is unknown: use {} or {}", option, text, first.first, second.first));
}

/// Where an option is given, its number becomes `value`; at least `least`.
inline void take_at_least(const char* option, const std::optional<std::int64_t>& given, std::int64_t least,
                          std::int64_t& value) {
  if (!given) return;
  if (*given < least) refuse_option(fmt::format("{} {} is too small: use at least {}", option, *given, least));
  value = *given;
}

enum class zero { allowed, refused };

/// Where an option is given, its finite number becomes `value`; never negative.
inline void take_real(const char* option, const std::optional<double>& given, zero is, double& value) {
  if (!given) return;
  if (!std::isfinite(*given) || *given < 0 || (is == zero::refused && *given == 0))
    refuse_option(fmt::format("{} {} cannot be used: give a {}number", option, *given,
                              is == zero::refused ? "positive " : "finite, not negative "));
  value = *given;
}

inline void check_at_least(const char* option, std::int64_t value, std::int64_t least) {
  take_at_least(option, value, least, value);
}

}  // namespace md
