#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <type_traits>
#include <typeindex>
#include <vector>

#include "imbrex/base/serialize.h"

namespace imbrex {

namespace detail {

/// How exceptions of one type travel between ranks: as a name and bytes.
struct exception_type {
  std::string name;
  std::type_index type;
  bool (*write)(const std::exception&, std::vector<std::byte>&);  ///< false: this one cannot travel as what it is
  void (*raise)(const std::vector<std::byte>&);
};

/// The types that arrive as what they were: those of the standard library, of imbrex::error, and what is registered.
/// Filled before the job, read-only then.
class exception_types {
 public:
  static exception_types& all();
  /// Throws `usage_error` when the name or the type is there with another type or name.
  void add(exception_type t);
  const exception_type* of(const std::type_info& type) const;
  const exception_type* named(const std::string& name) const;

 private:
  exception_types();
  std::vector<exception_type> types_;
};

template <class E>
inline constexpr bool is_written_whole =
    has_member_serialize<E, sizing_archive> || has_free_serialize<E, sizing_archive>;

template <class E>
bool write_exception(const std::exception& e, std::vector<std::byte>& bytes) {
  if constexpr (is_written_whole<E>) {
    bytes = to_bytes(static_cast<const E&>(e));
  } else {
    bytes = to_bytes(std::string(e.what()));
  }
  return true;
}

template <class E>
[[noreturn]] void raise_exception(const std::vector<std::byte>& bytes) {
  if constexpr (is_written_whole<E>) {
    E e;
    from_bytes(bytes, e);
    throw e;
  } else {
    std::string what;
    from_bytes(bytes, what);
    if constexpr (std::is_constructible_v<E, const std::string&>) {
      throw E(what);
    } else {
      throw E();
    }
  }
}

}  // namespace detail

/// Lets exceptions of type `E`, derived from std::exception, arrive as what they were where a `call` to another rank
/// awaits them, instead of as a `remote_error` with their text. Made there from its text, `E(std::string)`, or, where
/// `E` has a serialize and a default constructor, whole. The types of the standard library and of imbrex::error need
/// none of this. Only this very type: what derives from it has to be registered too. `name` stands for it in messages:
/// the same on all ranks, another for each type; left out, it is the type's. Call it before the job, at best at
/// namespace scope:
///
///     const bool known = imbrex::register_exception<my_error>();
///
/// True, always. Throws `usage_error` for a name or type that was registered differently.
template <class E>
bool register_exception(const std::string& name = detail::type_name<E>()) {
  static_assert(std::is_base_of_v<std::exception, E>,
                "imbrex: register_exception is for types derived from std::exception");
  static_assert(
      detail::is_written_whole<E> ? std::is_default_constructible_v<E> : std::is_constructible_v<E, const std::string&>,
      "imbrex: a registered exception is made from its text, or has a serialize and a default constructor");
  detail::exception_types::all().add({name, typeid(E), &detail::write_exception<E>, &detail::raise_exception<E>});
  return true;
}

}  // namespace imbrex
