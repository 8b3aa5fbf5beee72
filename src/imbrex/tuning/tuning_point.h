#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace imbrex {

/// What may be chosen, and among which whole numbers.
struct tuning_parameter {
  std::string name;
  std::vector<int> values;  ///< the search begins with the first
  bool ordered = true;      ///< values beside each other cost alike: the search need not see all of them
};

/// A value for each parameter.
class tuning_point {
 public:
  tuning_point() = default;
  tuning_point(std::vector<std::string> names, std::vector<int> values)
      : names_(std::move(names)), values_(std::move(values)) {}

  /// Throws `usage_error` when there is no parameter of that name.
  int operator[](std::string_view name) const;
  const std::vector<std::string>& names() const { return names_; }
  const std::vector<int>& values() const { return values_; }
  /// "odf 4, steps 1"
  std::string text() const;

 private:
  std::vector<std::string> names_;
  std::vector<int> values_;
};

}  // namespace imbrex
