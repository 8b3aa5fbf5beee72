#include "imbrex/pe/exception_types.h"

#include <any>
#include <functional>
#include <ios>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <typeinfo>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "imbrex/base/error.h"

namespace imbrex::detail {

namespace {

template <class E>
exception_type known(const char* name) {
  return {name, typeid(E), &write_exception<E>, &raise_exception<E>};
}

/// What is as its code says. Categories are objects of a process; these two are everywhere.
struct written_code {
  int value = 0;
  bool is_system = false;
  std::string text;
  template <class Archive>
  void serialize(Archive& ar) {
    ar & value & is_system & text;
  }
};

// `what` is the text given, then ": " and the code's message.
bool write_system_error(const std::exception& e, std::vector<std::byte>& bytes) {
  const auto& x = static_cast<const std::system_error&>(e);
  written_code w{x.code().value(), x.code().category() == std::system_category(), x.what()};
  if (!w.is_system && x.code().category() != std::generic_category()) return false;
  const std::string end = ": " + x.code().message();
  const std::string whole = x.what();
  if (whole.ends_with(end)) w.text = whole.substr(0, whole.size() - end.size());
  bytes = to_bytes(w);
  return true;
}

[[noreturn]] void raise_system_error(const std::vector<std::byte>& bytes) {
  written_code w;
  from_bytes(bytes, w);
  throw std::system_error(std::error_code(w.value, w.is_system ? std::system_category() : std::generic_category()),
                          w.text);
}

}  // namespace

exception_types::exception_types()
    : types_{known<std::logic_error>("std::logic_error"),
             known<std::invalid_argument>("std::invalid_argument"),
             known<std::domain_error>("std::domain_error"),
             known<std::length_error>("std::length_error"),
             known<std::out_of_range>("std::out_of_range"),
             known<std::runtime_error>("std::runtime_error"),
             known<std::range_error>("std::range_error"),
             known<std::overflow_error>("std::overflow_error"),
             known<std::underflow_error>("std::underflow_error"),
             known<std::bad_alloc>("std::bad_alloc"),
             known<std::bad_array_new_length>("std::bad_array_new_length"),
             known<std::bad_cast>("std::bad_cast"),
             known<std::bad_any_cast>("std::bad_any_cast"),
             known<std::bad_typeid>("std::bad_typeid"),
             known<std::bad_optional_access>("std::bad_optional_access"),
             known<std::bad_variant_access>("std::bad_variant_access"),
             known<std::bad_function_call>("std::bad_function_call"),
             known<std::bad_weak_ptr>("std::bad_weak_ptr"),
             known<std::bad_exception>("std::bad_exception"),
             {"std::system_error", typeid(std::system_error), &write_system_error, &raise_system_error},
             known<error>("imbrex::error"),
             known<usage_error>("imbrex::usage_error"),
             known<config_error>("imbrex::config_error"),
             known<device_error>("imbrex::device_error"),
             known<comm_error>("imbrex::comm_error"),
             known<out_of_memory>("imbrex::out_of_memory"),
             known<checkpoint_error>("imbrex::checkpoint_error"),
             known<not_built>("imbrex::not_built"),
             known<remote_error>("imbrex::remote_error")} {}

exception_types& exception_types::all() {
  static exception_types types;
  return types;
}

void exception_types::add(exception_type t) {
  for (const exception_type& other : types_) {
    if ((other.name == t.name) != (other.type == t.type)) {
      throw usage_error(fmt::format(
          "the exception '{}' is registered twice, with another type or name: one name for each type", t.name));
    }
    if (other.name == t.name) return;
  }
  types_.push_back(std::move(t));
}

const exception_type* exception_types::of(const std::type_info& type) const {
  for (const exception_type& t : types_) {
    if (t.type == type) return &t;
  }
  return nullptr;
}

const exception_type* exception_types::named(const std::string& name) const {
  for (const exception_type& t : types_) {
    if (t.name == name) return &t;
  }
  return nullptr;
}

}  // namespace imbrex::detail
