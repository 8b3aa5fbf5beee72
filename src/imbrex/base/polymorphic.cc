#include "imbrex/base/polymorphic.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <cstdlib>

namespace imbrex::detail {

std::string readable_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> readable(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                        &std::free);
  return readable != nullptr ? readable.get() : type.name();
}

void throw_unregistered(const std::type_info& type, const char* base) {
  const std::string name = readable_name(type);
  throw usage_error(
      fmt::format("a pointer to {} owns a {}, which would lose what it adds: register it by "
                  "imbrex::register_derived<{}, {}>(\"its name\") before the job",
                  base, name, base, name));
}

void throw_unknown_name(const std::string& name, const char* base) {
  throw comm_error(fmt::format(
      "a message brings a '{}' for a pointer to {}, which is not registered on this rank: do all run the same program?",
      name.substr(0, 100), base));
}

void throw_registered_twice(const std::string& name, const char* base) {
  throw usage_error(
      fmt::format("'{}' is registered twice for {}, with another class or name: one name for each class", name, base));
}

}  // namespace imbrex::detail
