#include "imbrex/tuning/tuning_point.h"

#include <fmt/format.h>

#include <cstddef>

#include "imbrex/base/error.h"

namespace imbrex {

int tuning_point::operator[](std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    if (names_[i] == name) return values_[i];
  }
  throw usage_error(fmt::format("'{}' is no parameter of this search: these are {}", name, text()));
}

std::string tuning_point::text() const {
  std::string all;
  for (std::size_t i = 0; i < names_.size(); ++i)
    all += fmt::format("{}{} {}", i == 0 ? "" : ", ", names_[i], values_[i]);
  return all;
}

}  // namespace imbrex
