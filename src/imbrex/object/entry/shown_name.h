#pragma once

#include <string>
#include <tuple>

#include "imbrex/base/type_name.h"

/// What reports and traces call chares and entry methods: by C++'s names, unless a class stands for many of another
/// language, and says which:
///
///     static const char* chare_name();                           one of which nothing is known
///     static const char* chare_name(const A&... made_with);      one that is made with these
///     const char* own_name() const override;                     one that is there
///     static const char* entry_name(const char* chare, const A&... arguments);   of a method called with these
///
/// Such texts live for ever (`kept_name`).
namespace imbrex {

/// The same text for ever; equal texts have one address. Thread-safe.
const char* kept_name(const std::string& text);

namespace detail {

template <class C, class... A>
const char* class_name(const A&... made_with) {
  if constexpr (requires { C::chare_name(made_with...); }) {
    return C::chare_name(made_with...);
  } else if constexpr (requires { C::chare_name(); }) {
    return C::chare_name();
  } else {
    return type_name<C>();
  }
}

/// Whether the class says what its chares are called.
template <class C>
constexpr bool names_chares = requires { C::chare_name(); };
/// Whether entry E, called with `Args`, is named by its class.
template <class E, class Args>
constexpr bool names_entry = false;
template <class E, class... A>
constexpr bool names_entry<E, std::tuple<A...>> =
    requires(const A&... a) { E::chare_type::entry_name(static_cast<const char*>(nullptr), a...); };

template <class E, class Args>
const char* entry_name_of(const char* chare, const Args& arguments) {
  return std::apply([&](const auto&... a) { return E::chare_type::entry_name(chare, a...); }, arguments);
}

}  // namespace detail

}  // namespace imbrex
