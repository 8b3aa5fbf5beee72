#include "support/statistics.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace apps {

statistics statistics_of(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  return {values.front(), (values[(n - 1) / 2] + values[n / 2]) / 2, values.back(), sum / static_cast<double>(n)};
}

}  // namespace apps
