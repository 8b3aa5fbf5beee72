#pragma once

#include <vector>

namespace apps {

/// Over repeats, in the unit of the values.
struct statistics {
  double min = 0, median = 0, max = 0, mean = 0;
};
/// Precondition: at least one value.
statistics statistics_of(std::vector<double> values);

}  // namespace apps
